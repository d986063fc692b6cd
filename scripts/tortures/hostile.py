"""Gives dirindex what nobody means well with, and compares what happens with the table in docs/robustness.md."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tortures.hostile_files import FILES, NAMES
from tortures.hostile_places import PLACES
from tortures.workbench import CheapEmbedder, Child

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchRequest
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.text.formatting import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tortures.workbench import Torture

DIRINDEX = Path(sys.executable).with_name("dirindex")
TABLE = Path(__file__).resolve().parent.parent.parent / "docs" / "robustness.md"
_START, _END = "<!-- outcomes -->\n", "<!-- end of outcomes -->\n"
_LONGEST_SECONDS = 120.0
_LONGEST_SAID = 120
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\x1b(?![\[\]\\])"
)


def hostile(torture: Torture) -> str:
    """Try everything once; what happens must be what the table says, in a bounded time, and never a bug."""
    rows = [*_files(torture), *_names(torture), *_queries(torture), *_places(torture)]
    table = "".join(f"| {what} | {outcome} |\n" for what, outcome in rows)
    table = f"| input | what happens |\n| --- | --- |\n{table}"
    before, rest = TABLE.read_text(encoding="utf-8").split(_START)
    body, after = rest.split(_END)
    if torture.writes:
        TABLE.write_text(f"{before}{_START}{table}{_END}{after}", encoding="utf-8")
    else:
        expected = set(body.splitlines())
        for line in table.splitlines():
            torture.require(line in expected, f"not as in {TABLE.name}: {line}")
    return f"{len(rows)} hostile inputs"


def _run(
    torture: Torture, data_dir: Path, *words: str | Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    started = _processor_seconds()
    done = subprocess.run(  # noqa: S603 - the program under test
        [DIRINDEX, *words, "--data-dir", data_dir], capture_output=True, check=False, input=stdin, timeout=600
    )
    what = " ".join(map(os.fspath, words))[:200]
    torture.require(0 <= done.returncode < 70, f"{what}: {done.returncode} {done.stderr[-500:]!r}")  # noqa: PLR2004
    seconds = _processor_seconds() - started
    torture.require(seconds < _LONGEST_SECONDS, f"{what}: took {seconds:.0f} s")
    return done


def _processor_seconds() -> float:
    """Return how much the processes that have ended took; how long that was depends on what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _files(torture: Torture) -> Iterator[tuple[str, str]]:
    root, data_dir = torture.place / "files", torture.place / "index of files"
    for number, make in enumerate(FILES.values()):
        place = root / f"{number:03}"
        place.mkdir(parents=True)
        make(place)
    _run(torture, data_dir, "index", root, "--quiet")
    for number, what in enumerate(FILES):
        yield what, _state_below(data_dir, root / f"{number:03}")


def _state_below(data_dir: Path, place: Path) -> str:
    """Return what became of the files below a directory."""
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        known = snapshot.files.within(file_path(place))
        failures = {
            failure.path: failure.message for failure in snapshot.left_out.failures(within=file_path(place), limit=9)
        }
        skips = {
            skipped.path: skipped.detail for skipped in snapshot.left_out.skipped(within=file_path(place), limit=9)
        }
    outcomes = set()
    for path, file in known.items():
        detail = failures.get(path) or (skips.get(path) if file.reason == "secret" else "") or ""
        detail = re.sub(r"took longer than .*", "took too long", detail)
        what = {"indexed": "indexed", "skipped": f"left out: {file.reason}", "failed": "failed"}[file.state]
        outcomes.add(f"{what}{': ' if file.state == 'failed' else ', ' if detail else ''}{printable(detail)}")
    return "; ".join(sorted(outcomes)) or "left out by a rule"


def _names(torture: Torture) -> Iterator[tuple[str, str]]:
    """File names: exact in JSON, harmless on a terminal."""
    root, data_dir = torture.place / "names", torture.place / "index of names"
    root.mkdir()
    for number, name in enumerate(NAMES.values()):
        path = Path(os.fsdecode(os.fsencode(root) + b"/" + name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"name{number} of a file\n", encoding="utf-8")
    _run(torture, data_dir, "index", root, "--quiet")
    for number, (what, name) in enumerate(NAMES.items()):
        page = json.loads(_run(torture, data_dir, "search", f"name{number}", "-m", "keyword", "--json").stdout)
        paths = [hit["path"] for hit in page["hits"]]
        is_exact = file_path(os.fsdecode(os.fsencode(root) + b"/" + name)) in paths
        output = _on_terminal(DIRINDEX, "search", f"name{number}", "-m", "keyword", "--data-dir", data_dir)
        is_harmless = not _CONTROL.search(output) and f"name{number}" in output
        torture.require(is_exact and is_harmless, f"{what}: exact: {is_exact}, harmless: {is_harmless}: {output!r}")
        yield f"file name {what}", "indexed; exact in JSON, escaped on a terminal"


def _on_terminal(*words: str | Path) -> str:
    """Run a command on a pseudo-terminal and give what it shows."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "300"}
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)  # noqa: S603 - as above
    os.close(theirs)
    output = b""
    while True:
        try:
            further = os.read(ours, 65536)
        except OSError:  # Linux says so when nobody writes any more
            break
        if not further:
            break
        output += further
    os.close(ours)
    process.wait()
    return output.decode("utf-8", "replace").replace("\r\n", "\n")


class _CheapApp(App):
    def embedder(self) -> CheapEmbedder:
        return CheapEmbedder()


QUERIES = {
    "of 1 MB": "word " * 200_000,
    "of one word of 1 MB": "x" * 1_000_000,
    "of 100,000 quotes": '"' * 100_000,
    "of 100,000 brackets": "(" * 100_000,
    "of 50,000 phrases": '"a b" ' * 50_000,
    "of 20,000 exclusions": "-word " * 20_000,
    "of 5,000 prefixes": " ".join(f"a{number}*" for number in range(5000)),
    "of 5,000 suffixes": " ".join(f"*a{number}" for number in range(5000)),
    "of 2,000 path filters": "path:**/*a*b*c*d* " * 2000,
    "with NUL characters": "na\0me \0",
    "of control characters and escape sequences": "\x1b[31mname\x07\x9b2J",
    "of lone surrogates": "name \ud800 \udcff",
    "of operators of FTS5": 'NEAR(name file, 5) AND OR NOT "name" * ^ {text heading} : + -',
    "of SQL": "'; DROP TABLE files; -- \" OR 1=1 UNION SELECT * FROM meta",
    "of combining characters": "e" + "\u0301" * 50_000,
    "of characters of both directions": "\u202ename\u202c \u2066file\u2069",
    "of nothing": "",
    "of blanks": " \t\n\u3000",
    "of filters alone": "type: path: heading: -",
    "of emoji and private characters": "👩‍👩‍👧‍👦 \U0010ffff \ue000 \ufffe",
}


def _queries(torture: Torture) -> Iterator[tuple[str, str]]:
    data_dir = torture.place / "index of names"
    for what, query in QUERIES.items():
        started = _processor_seconds()
        code, outcome = Child(_answer, data_dir, query).wait()
        seconds = _processor_seconds() - started
        torture.require(code == 0, f"query {what}: {outcome}")
        torture.require(seconds < _LONGEST_SECONDS, f"query {what}: took {seconds:.0f} s")
        yield f"query {what}", str(outcome)


def _answer(data_dir: Path, query: str) -> str:
    app = _CheapApp(load_config(file=None, data_dir=data_dir, environ={}))
    try:
        app.searcher.search(SearchRequest(query))
    except DirIndexError as error:
        return f"refused: {printable(error.message)}"
    return "answered"


def _places(torture: Torture) -> Iterator[tuple[str, str]]:
    """Trees and index directories: what a run says, each in a place of its own."""
    for number, (what, (make, words)) in enumerate(PLACES.items()):
        place = torture.place / f"place{number}"
        place.mkdir()
        make(place)
        results = []
        for command in words:
            arguments = [str(place / word[1:]) if word.startswith("@") else word for word in command]
            done = _run(torture, place / "data", *arguments)
            message = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("dirindex: ")
            message = printable(message.replace(str(place / "data"), "DATA").replace(str(place), "…")).replace(
                "|", "\\|"
            )
            message = (
                message
                if len(message) <= _LONGEST_SAID
                else f"{message[: _LONGEST_SAID // 2]}…{message[-_LONGEST_SAID // 2 :]}"
            )
            results.append(
                f"`{command[0]}` ends with {done.returncode}{f': {message}' if done.returncode and message else ''}"
            )
        yield what, "; ".join(results)
