"""Hostile input ends as docs/robustness.md says: in a bounded time, without a bug, and harmless on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from cheap import cheap_app
from hostile_inputs import FILES, NAMES, PLACES, QUERIES, write
from tortures.workbench import DIRINDEX, PACKAGE, complaint_of, remove, run_command

from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchRequest
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.text.formatting import printable

TABLE: Final = PACKAGE.parent / "docs" / "robustness.md"
_NOT_FOR_TERMINALS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\x1b(?![\[\]\\])"
)
_LONGEST_SECONDS: Final = 120.0
_HALF: Final = 60
_CODES: Final = frozenset(range(70))


def _run(data_dir: Path, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
    started = _processor_seconds()
    done = run_command(DIRINDEX, *words, "--data-dir", data_dir)
    what = " ".join(map(str, words))[:200]
    complaint = complaint_of(done, _CODES)
    assert not complaint, f"{what}: {complaint}"
    assert _processor_seconds() - started < _LONGEST_SECONDS, what
    return done


def _processor_seconds() -> float:
    """Return how much the processes that have ended took; how long that was depends on what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _files(place: Path) -> Iterator[tuple[str, str]]:
    root, data_dir = place / "files", place / "index of files"
    for number, (name, content) in enumerate(FILES.values()):
        write(root / f"{number:03}" / name, content)
    _run(data_dir, "index", root, "--quiet")
    for number, what in enumerate(FILES):
        yield what, _outcome_below(data_dir, root / f"{number:03}")


def _outcome_below(data_dir: Path, place: Path) -> str:
    """Return what became of the files below a directory."""
    path = file_path(place)
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        known = snapshot.files.records_within(path)
        failures = {failure.path: failure.message for failure in snapshot.left_out.failures(within=path, limit=9)}
        skips = {skipped.path: skipped.detail for skipped in snapshot.left_out.skipped(within=path, limit=9)}
    outcomes = set()
    for name, file in known.items():
        detail = failures.get(name) or (skips.get(name) if file.reason == "secret" else "") or ""
        detail = re.sub(r"took longer than .*", "took too long", detail)
        what = {"indexed": "indexed", "skipped": f"left out: {file.reason}", "failed": "failed"}[file.state]
        outcomes.add(f"{what}{': ' if file.state == 'failed' else ', ' if detail else ''}{printable(detail)}")
    return "; ".join(sorted(outcomes)) or "left out by a rule"


def _names(place: Path) -> Iterator[tuple[str, str]]:
    """File names: exact in JSON, harmless on a terminal."""
    root, data_dir = place / "names", place / "index of names"
    paths = [Path(os.fsdecode(os.fsencode(root) + b"/" + name)) for name in NAMES.values()]
    for number, path in enumerate(paths):
        write(path, f"name{number} of a file\n")
    _run(data_dir, "index", root, "--quiet")
    for number, what in enumerate(NAMES):
        search = ("search", f"name{number}", "-m", "keyword")
        page = json.loads(_run(data_dir, *search, "--json").stdout)
        is_exact = file_path(paths[number]) in [hit["path"] for hit in page["hits"]]
        output = _on_terminal(DIRINDEX, *search, "--data-dir", str(data_dir))
        is_harmless = not _NOT_FOR_TERMINALS.search(output) and f"name{number}" in output
        assert is_exact, what
        assert is_harmless, f"{what}: {output!r}"
        yield f"file name {what}", "indexed; exact in JSON, escaped on a terminal"


def _on_terminal(*words: str) -> str:
    """Run a command on a pseudo-terminal, and return what it shows."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "300"}
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    output = b""
    try:
        while further := os.read(ours, 65536):
            output += further
    except OSError:  # Linux says so when nobody writes any more
        pass
    os.close(ours)
    process.wait()
    return output.decode("utf-8", "replace").replace("\r\n", "\n")


def _queries(place: Path) -> Iterator[tuple[str, str]]:
    data_dir = place / "index"
    _run(data_dir, "index", PACKAGE / "text", "--quiet")
    for what, query in QUERIES.items():
        started = time.process_time()
        yield f"query {what}", _answer(data_dir, query)
        assert time.process_time() - started < _LONGEST_SECONDS, what


def _answer(data_dir: Path, query: str) -> str:
    try:
        cheap_app(data_dir).searcher.search(SearchRequest(query))
    except DirIndexError as error:
        return f"refused: {printable(error.message)}"
    return "answered"


def _places(place: Path) -> Iterator[tuple[str, str]]:
    """Trees and index directories: what a run says, each in a place of its own."""
    above = place
    for number, (what, (files, commands)) in enumerate(PLACES.items()):
        place = above / f"place{number}"
        for name, content in {"docs/a.md": "some words\n", **files}.items():
            write(place / name, content)
        results = []
        for command in commands:
            verb, *words = (word.format(docs=place / "docs") for word in command.split())
            done = _run(place / "data", verb, *words)
            message = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("dirindex: ")
            message = message.replace(str(place / "data"), "DATA").replace(str(place), "…")
            message = printable(message).replace("|", "\\|")
            message = message if len(message) <= 2 * _HALF else f"{message[:_HALF]}…{message[-_HALF:]}"
            ending = f"ends with {done.returncode}" + (f": {message}" if done.returncode and message else "")
            results.append(f"`{verb}` {ending}")
        yield what, "; ".join(results)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform == "win32", reason="pipes, sockets and terminals of POSIX")
@pytest.mark.parametrize("rows", [_files, _names, _queries, _places])
def test_hostile_input_ends_as_the_documentation_says(
    rows: Callable[[Path], Iterator[tuple[str, str]]], tmp_path: Path
) -> None:
    documented = set(TABLE.read_text(encoding="utf-8").splitlines())
    outcomes = [f"| {what} | {outcome} |" for what, outcome in rows(tmp_path)]
    try:
        assert [outcome for outcome in outcomes if outcome not in documented] == []
    finally:
        remove(tmp_path)  # some of it is deeper than Python's own way can go
