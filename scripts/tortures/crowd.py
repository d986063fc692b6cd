"""Runs writers, readers and servers concurrently on one index, and checks that every answer is one snapshot."""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from serving import RawClient, text_of
from tortures.workbench import DIRINDEX, complaint_of, run_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tortures.workbench import Torture

_N_FILES = 12
_N_PARAGRAPHS = 60
_FOUND_NOTHING = 1


@dataclass
class _Crowd:
    """The shared state of the crowd; every line of a file contains the file's version."""

    torture: Torture
    roots: tuple[Path, Path]
    data_dir: Path
    waits: dict[str, list[float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, who: str, started: float) -> None:
        with self.lock:
            self.waits.setdefault(who, []).append(time.monotonic() - started)

    def require(self, claim: bool, message: str) -> None:  # noqa: FBT001 - read as an assertion
        with self.lock:
            self.torture.require(claim, message)

    @property
    def is_over(self) -> bool:
        return not self.torture.goes_on(0)

    def command(self, who: str, *words: str | Path) -> bytes:
        started = time.monotonic()
        done = run_command(DIRINDEX, *words, "--data-dir", self.data_dir)
        self.note(who, started)
        complaint = complaint_of(done, frozenset({0, _FOUND_NOTHING} if who == "search" else {0}))
        self.require(not complaint, f"{who} {words}: {complaint}")
        return done.stdout


def crowd(torture: Torture) -> str:
    """Run two writers, four readers that restart for each query, and two servers."""
    roots = (torture.place / "one", torture.place / "two")
    shared = _Crowd(torture, roots, torture.place / "index")
    for root in roots:
        root.mkdir()
        for number in range(_N_FILES):
            _write(root, number, 0)
    for root in roots:
        shared.command("first run", "index", root, "--quiet")
    members: list[tuple[Callable[[_Crowd, int], None], int]] = [(_writer, 0), (_writer, 1), (_server, 0), (_server, 1)]
    members += [(_reader, number) for number in range(4)]
    threads = [threading.Thread(target=_guarded, args=(member, shared, number)) for member, number in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    totals = (
        f"{who}: {len(waits)} times, median {statistics.median(waits):.2f} s, worst {max(waits):.2f} s"
        for who, waits in sorted(shared.waits.items())
    )
    return "\n  ".join(totals)


def _guarded(member: Callable[[_Crowd, int], None], shared: _Crowd, number: int) -> None:
    try:
        member(shared, number)
    except Exception as error:  # noqa: BLE001 - the failure of one of the crowd is that of the part
        shared.require(claim=False, message=f"{member.__name__} {number}: {type(error).__name__}: {error}")


def _writer(shared: _Crowd, number: int) -> None:
    rng = random.Random(shared.torture.seed + number)
    version = 0
    while not shared.is_over:
        version += 1
        for file_number in rng.sample(range(_N_FILES), 4):
            _write(shared.roots[number], file_number, version)
        shared.command("index", "index", shared.roots[number], "--quiet")


def _reader(shared: _Crowd, number: int) -> None:
    rng = random.Random(shared.torture.seed + 100 + number)
    while not shared.is_over:
        root, file_number = rng.choice(shared.roots), rng.randrange(_N_FILES)
        path = root / f"file{file_number}.md"
        match rng.randrange(3):
            case 0:
                got = json.loads(shared.command("get", "get", path, "--json"))["text"]
                _require_one_version(shared, got, f"get {path}")
                shared.require(got.count("version") == _N_PARAGRAPHS, f"get {path}: not the whole text")
            case 1:
                search = ("search", f"subject{file_number}", root, "--json", "-m", "keyword", "--full")
                _require_consistent(shared, json.loads(shared.command("search", *search)))
            case _:
                json.loads(shared.command("status", "status", "--json"))


def _server(shared: _Crowd, number: int) -> None:
    rng = random.Random(shared.torture.seed + 200 + number)
    with RawClient("--data-dir", shared.data_dir, environ=dict(os.environ)) as client:
        client.shake_hands()
        while not shared.is_over:
            file_number, root = rng.randrange(_N_FILES), rng.choice(shared.roots)
            started = time.monotonic()
            if rng.random() < 0.5:  # noqa: PLR2004 - one of two
                result = client.call("search", query=f"subject{file_number} of the crowd", path=str(root))
            else:
                result = client.call("get_content", path=str(root / f"file{file_number}.md"))
                _require_one_version(shared, text_of(result), f"get over MCP {file_number}")
            shared.note("MCP call", started)
            shared.require(not result.get("isError"), f"over MCP: {text_of(result)[:300]}")


def _require_consistent(shared: _Crowd, page: dict[str, list[dict[str, str]]]) -> None:
    places = [(hit["path"], hit["chunk"]) for hit in page["hits"]]
    shared.require(len(places) == len(set(places)), f"a passage is shown twice: {places}")
    for path in {path for path, _ in places}:
        text = "".join(hit["text"] for hit in page["hits"] if hit["path"] == path)
        _require_one_version(shared, text, f"search {path}")


def _require_one_version(shared: _Crowd, text: str, what: str) -> None:
    versions = set(re.findall(r"version\d+", text))
    shared.require(len(versions) <= 1, f"{what}: half old, half new: {versions}")


def _write(root: Path, number: int, version: int) -> None:
    lines = [
        f"Subject{number} of the crowd, paragraph {paragraph}, is told in version{version}."
        for paragraph in range(_N_PARAGRAPHS)
    ]
    draft = root / f".draft{number}"
    draft.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    draft.replace(root / f"file{number}.md")
