"""Hostile input, whose outcomes are compared with the table in docs/robustness.md."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cheap import cheap_app
from tortures.hostile_inputs import FILES, NAMES, PLACES, QUERIES, write
from tortures.workbench import DIRINDEX, NOT_FOR_TERMINALS, PACKAGE, Child, complaint_of, run_command

from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchRequest
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.text.formatting import printable

if TYPE_CHECKING:
    from tortures.workbench import Torture

TABLE: Final = PACKAGE.parent / "docs" / "robustness.md"
_START, _END = "<!-- outcomes -->\n", "<!-- end of outcomes -->\n"
_LONGEST_SECONDS: Final = 120.0
_HALF: Final = 60
_CODES: Final = frozenset(range(70))


def hostile(torture: Torture) -> str:
    """Try everything once; what happens must be what the table says, in a bounded time, and never a bug."""
    rows = [*_files(torture), *_names(torture), *_queries(torture), *_places(torture)]
    table = "".join(f"| {what} | {outcome} |\n" for what, outcome in rows)
    table = f"| input | what happens |\n| --- | --- |\n{table}"
    before, rest = TABLE.read_text(encoding="utf-8").split(_START)
    body, after = rest.split(_END)
    if torture.writes:
        TABLE.write_text(f"{before}{_START}{table}{_END}{after}", encoding="utf-8")
    for line in set(table.splitlines()) - set(body.splitlines() if not torture.writes else table.splitlines()):
        torture.require(claim=False, message=f"not as in {TABLE.name}: {line}")
    return f"{len(rows)} hostile inputs"


def _run(torture: Torture, data_dir: Path, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
    started = _processor_seconds()
    done = run_command(DIRINDEX, *words, "--data-dir", data_dir)
    what = " ".join(map(os.fspath, words))[:200]
    complaint = complaint_of(done, _CODES)
    torture.require(not complaint, f"{what}: {complaint}")
    _require_in_time(torture, what, started)
    return done


def _processor_seconds() -> float:
    """Return how much the processes that have ended took; how long that was depends on what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _require_in_time(torture: Torture, what: str, started: float) -> None:
    seconds = _processor_seconds() - started
    torture.require(seconds < _LONGEST_SECONDS, f"{what}: took {seconds:.0f} s")


def _files(torture: Torture) -> Iterator[tuple[str, str]]:
    root, data_dir = torture.place / "files", torture.place / "index of files"
    for number, (name, content) in enumerate(FILES.values()):
        write(root / f"{number:03}" / name, content)
    _run(torture, data_dir, "index", root, "--quiet")
    for number, what in enumerate(FILES):
        yield what, _outcome_below(data_dir, root / f"{number:03}")


def _outcome_below(data_dir: Path, place: Path) -> str:
    """Return what became of the files below a directory."""
    path = file_path(place)
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        known = snapshot.files.within(path)
        failures = {failure.path: failure.message for failure in snapshot.left_out.failures(within=path, limit=9)}
        skips = {skipped.path: skipped.detail for skipped in snapshot.left_out.skipped(within=path, limit=9)}
    outcomes = set()
    for name, file in known.items():
        detail = failures.get(name) or (skips.get(name) if file.reason == "secret" else "") or ""
        detail = re.sub(r"took longer than .*", "took too long", detail)
        what = {"indexed": "indexed", "skipped": f"left out: {file.reason}", "failed": "failed"}[file.state]
        outcomes.add(f"{what}{': ' if file.state == 'failed' else ', ' if detail else ''}{printable(detail)}")
    return "; ".join(sorted(outcomes)) or "left out by a rule"


def _names(torture: Torture) -> Iterator[tuple[str, str]]:
    """File names: exact in JSON, harmless on a terminal."""
    root, data_dir = torture.place / "names", torture.place / "index of names"
    paths = [Path(os.fsdecode(os.fsencode(root) + b"/" + name)) for name in NAMES.values()]
    for number, path in enumerate(paths):
        write(path, f"name{number} of a file\n")
    _run(torture, data_dir, "index", root, "--quiet")
    for number, what in enumerate(NAMES):
        search = ("search", f"name{number}", "-m", "keyword")
        page = json.loads(_run(torture, data_dir, *search, "--json").stdout)
        is_exact = file_path(paths[number]) in [hit["path"] for hit in page["hits"]]
        output = _on_terminal(DIRINDEX, *search, "--data-dir", str(data_dir))
        is_harmless = not NOT_FOR_TERMINALS.search(output) and f"name{number}" in output
        torture.require(is_exact and is_harmless, f"{what}: exact: {is_exact}, harmless: {is_harmless}: {output!r}")
        yield f"file name {what}", "indexed; exact in JSON, escaped on a terminal"


def _on_terminal(*words: str) -> str:
    """Run a command on a pseudo-terminal, and return what it shows."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "300"}
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)  # noqa: S603 - under test
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


def _queries(torture: Torture) -> Iterator[tuple[str, str]]:
    for what, query in QUERIES.items():
        started = _processor_seconds()
        outcome = torture.result_of(f"query {what}", Child(_answer, torture.place / "index of names", query))
        _require_in_time(torture, f"query {what}", started)
        yield f"query {what}", str(outcome)


def _answer(data_dir: Path, query: str) -> str:
    try:
        cheap_app(data_dir).searcher.search(SearchRequest(query))
    except DirIndexError as error:
        return f"refused: {printable(error.message)}"
    return "answered"


def _places(torture: Torture) -> Iterator[tuple[str, str]]:
    """Trees and index directories: what a run says, each in a place of its own."""
    for number, (what, (files, commands)) in enumerate(PLACES.items()):
        place = torture.place / f"place{number}"
        for name, content in {"docs/a.md": "some words\n", **files}.items():
            write(place / name, content)
        results = []
        for command in commands:
            verb, *words = (word.format(docs=place / "docs") for word in command.split())
            done = _run(torture, place / "data", verb, *words)
            message = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("dirindex: ")
            message = message.replace(str(place / "data"), "DATA").replace(str(place), "…")
            message = printable(message).replace("|", "\\|")
            message = message if len(message) <= 2 * _HALF else f"{message[:_HALF]}…{message[-_HALF:]}"
            ending = f"ends with {done.returncode}" + (f": {message}" if done.returncode and message else "")
            results.append(f"`{verb}` {ending}")
        yield what, "; ".join(results)
