"""Engines for tests that read the pages of `scanned_pages`: one in the process, one that is a command."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tesseract_standin
from tesseract_standin import table_of, written_on

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.files import PageProblem, Recognition, Scan, source_file_of_status
from directory_indexer.core.paths import file_path
from directory_indexer.embedding.wordpiece import count_tokens
from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.engine import PageOutcome, PageRequest
from directory_indexer.ocr.engine_selection import ConfiguredOcr, OcrSettings
from directory_indexer.ocr.pages import read_page
from directory_indexer.ocr.reader import require_working_engine
from directory_indexer.ocr.tesseract import lines_of
from directory_indexer.parsing.policy import ParsePolicy


@dataclass
class FakeEngine:
    """Reads what is written on a page, and notes it; pages with the words in `broken` it cannot read.

    While it `is_gone` it reads none.
    """

    recipe: str = "fake 1"
    name = "a fake"
    read: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    is_gone: bool = False

    def recognise(self, page: Raster) -> Recognition:
        if self.is_gone:
            raise ExtractionError("the engine is gone")
        written = written_on(page.width, page.height, page.samples)
        if written is None or written.turn:
            return Recognition(self.recipe, (), page.dpi)
        self.read.append(written.text)
        if any(word in written.text for word in self.broken):
            raise ExtractionError("the engine gives up")
        lines = lines_of(table_of(written, written.confidence), page.width, page.height)
        return Recognition(self.recipe, tuple(lines), page.dpi)

    def turn_of(self, page: Raster) -> int:
        written = written_on(page.width, page.height, page.samples)
        return written.turn if written else 0


def recognised(content: bytes, scan: Scan, engine: FakeEngine, suffix: str = "pdf") -> Recognition | PageProblem | None:
    """Have one page of a document read."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, f"document.{suffix}")
        path.write_bytes(content)
        source = source_file_of_status(file_path(path), path.stat())
        policy = ParsePolicy(1 << 30, include_secrets=False, chunking=ChunkPolicy(), count_tokens=count_tokens)
        request = PageRequest(source.path, source, scan.page, scan.key)
        return read_page(request, engine=engine, policy=policy).recognition


@dataclass
class FakeReader:
    """Has pages read in this process, one after the other; `before` is called before each."""

    engine: FakeEngine
    policy: ParsePolicy
    before: Callable[[PageRequest], object] = lambda _: None

    usage = ""

    @property
    def recipe(self) -> str:
        return self.engine.recipe

    def read(self, requests: Iterable[PageRequest], *, must_stop: Callable[[], bool]) -> Iterator[PageOutcome]:
        for request in requests:
            if must_stop():
                return
            self.before(request)
            yield require_working_engine(read_page(request, engine=self.engine, policy=self.policy))


class FakeReading(ConfiguredOcr):
    """Reads pages with an engine of a test, if there is one."""

    def __init__(self, engine: FakeEngine, policy: Callable[[], ParsePolicy]) -> None:
        super().__init__(OcrSettings(), policy)
        self._engine = engine
        self._parse = policy
        self.before: Callable[[PageRequest], object] = lambda _: None

    def reader(self) -> FakeReader:
        return FakeReader(self._engine, self._parse(), self.before)


@dataclass
class Standin:
    """The stand-in for the command `tesseract`, what it is told, and what it was asked."""

    place: Path

    def __post_init__(self) -> None:
        if os.name != "posix":
            pytest.skip("the stand-in is a script with a shebang")
        self.place.mkdir(exist_ok=True)
        self.command = self.place / "tesseract"
        script = Path(tesseract_standin.__file__).resolve()
        self.command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "{self.place}" "$@"\n')
        self.command.chmod(0o700)
        self.tell()

    def tell(self, *, version: str = "5.3.0", languages: Iterable[str] = ("eng", "deu", "osd"), **orders: Any) -> None:
        """Say what it is and does: `on` maps parts of texts to orders, `table` is printed whatever the page is."""
        said = {"version": version, "languages": list(languages), "on": {}, **orders}
        waiting = self.place / "orders.new"
        waiting.write_text(json.dumps(said))
        waiting.replace(self.place / "orders.json")

    @property
    def calls(self) -> list[tuple[str, str, str, str]]:
        """List what it was asked: what for, in which languages, at which resolution, and the text of the page."""
        calls = self.place / "calls"
        return [tuple(json.loads(line)) for line in calls.read_text().splitlines()] if calls.exists() else []

    def n_read(self, part: str = "") -> int:
        """Count the readings of pages with a text."""
        return sum(kind == "tsv" and part in text for kind, _, _, text in self.calls)
