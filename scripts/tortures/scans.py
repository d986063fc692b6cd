"""Kills runs amid the pages that they read, and lets the engine fail: no page is read twice, and none is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from archives import zipped
from page_engines import Standin
from scanned_pages import picture, scan, tiff

from directory_indexer.core.files import Recognition
from directory_indexer.storage.page_cache import PageCache

if TYPE_CHECKING:
    from tortures.workbench import Torture

_DIRINDEX = Path(sys.executable).with_name("dirindex")
_N_PAGES = 16
_N_WORKERS = 2
_IN_HAND = 3 * _N_WORKERS
"""So many pages a kill may cost: each worker has one, and a few lie ready for it or are on their way back."""

_LONGER, _SHORTER = 1.05, 0.8
_FAULTS = ("none", "none", "none", "crash", "fail", "eat", "gone", "rubbish")


def scans(torture: Torture) -> str:
    """Kill `size` runs or as many as time allows, each with new scans and an engine that may fail; then compare."""
    bench = _Bench(torture)
    seconds, n_kills, n_finished, faults = 4.0, 0, 0, Counter[str]()
    while n_kills < torture.size and not torture.is_over and not torture.failures:
        bench.add_letter()
        fault = bench.break_engine()
        faults[fault] += 1
        before = bench.n_calls()
        was_killed = bench.killed_within(torture.chance.uniform(0.2, seconds))
        n_kills, n_finished = n_kills + was_killed, n_finished + (not was_killed)
        seconds *= _LONGER if was_killed else _SHORTER
        bench.check_what_is_kept(before, f"kill {n_kills} ({fault})")
        bench.mend_engine()
    bench.compare(n_kills)
    summary = ", ".join(f"{number} {name}" for name, number in sorted(faults.items()) if name != "none") or "none"
    return f"{n_kills} runs killed, {n_finished} ended before; {bench.n_pages} pages; faults of the engine: {summary}"


class _Bench:
    """Scans, an index of them, and an engine that notes which pages it is given."""

    def __init__(self, torture: Torture) -> None:
        self.torture = torture
        self.docs = torture.place / "docs"
        self.docs.mkdir()
        self.standin = Standin(torture.place / "tesseract")
        self.data_dir = torture.place / "index"
        self.n_pages = 0
        self.kept: set[str] = set()
        self._hidden = self.standin.place / "hidden"
        config = {"engine": "tesseract", "tesseract": str(self.standin.command), "languages": ["eng"]}
        self._config = torture.place / "config.json"
        self._config.write_text(json.dumps({"ocr": config, "indexing": {"concurrency": _N_WORKERS}}))

    def add_letter(self) -> None:
        """Add pages that nobody has read, in one of the ways in which scans come."""
        texts = [f"Page {self.n_pages + number} of the letter." for number in range(_N_PAGES)]
        self.n_pages += _N_PAGES
        pictures = [picture(text) for text in texts]
        name = f"letter{self.n_pages}"
        match self.torture.chance.randrange(3):
            case 0:
                (self.docs / f"{name}.pdf").write_bytes(scan(*texts))
            case 1:
                (self.docs / f"{name}.tiff").write_bytes(tiff(*pictures))
            case _:
                members = {f"{number:02}.png": picture.png() for number, picture in enumerate(pictures)}
                (self.docs / f"{name}.zip").write_bytes(zipped(members))

    def break_engine(self) -> str:
        """Break the engine for one page, for all of them, or not at all."""
        fault = self.torture.chance.choice(_FAULTS)
        page = f"Page {self.torture.chance.randrange(self.n_pages)} "
        match fault:
            case "gone":
                self.standin.command.rename(self._hidden)
            case "rubbish":
                self.standin.tell(on={page: "fail"}, languages=["eng", "../../rubbish", "\x1b[31m", "eng"])
            case "crash" | "fail" | "eat":
                self.standin.tell(on={page: fault})
        return fault

    def mend_engine(self) -> None:
        """Mend the engine, so that it reads all pages again."""
        if self._hidden.exists():
            self._hidden.rename(self.standin.command)
        self.standin.tell()

    def killed_within(self, seconds: float) -> bool:
        """Begin a run, and kill it, alone or with all that it has started; tell whether that came in time."""
        run = self._start(self.data_dir)
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = run.wait(seconds)
            self.torture.require(code in {0, 1, 3}, f"a run ends with {code}")
            return False
        if self.torture.chance.random() < 0.5:  # noqa: PLR2004 - sometimes the workers live on, and must notice
            os.killpg(run.pid, signal.SIGKILL)
        run.kill()
        run.wait()
        return True

    def n_calls(self) -> Counter[str]:
        """Count how often the engine was given each page."""
        return Counter(text for kind, _, _, text in self.standin.calls if kind == "tsv")

    def check_what_is_kept(self, before: Counter[str], what: str) -> None:
        """Check that pages kept before were not read again, and are kept still."""
        twice = {text for text, number in self.n_calls().items() if number > before[text]} & self.kept
        self.torture.require(not twice, f"{what}: read again though they were kept: {sorted(twice)[:3]}")
        kept = self._texts()
        self.torture.require(self.kept <= kept, f"{what}: lost: {sorted(self.kept - kept)[:3]}")
        self.kept = kept

    def compare(self, n_kills: int) -> None:
        """Complete the runs, and compare with an index that nobody disturbed."""
        fresh = self.torture.place / "fresh"
        for data_dir in (self.data_dir, self.data_dir, fresh):
            before = self.n_calls()
            code = self._start(data_dir).wait()
            self.torture.require(code == 0, f"a run that nobody disturbs ends with {code}")
            if data_dir == self.data_dir:
                self.check_what_is_kept(before, "in the end")
                n_calls = self.n_calls().total()
        most = self.n_pages + n_kills * _IN_HAND + 4 * self.torture.size
        self.torture.require(n_calls <= most, f"{n_calls} readings of {self.n_pages} pages in {n_kills} kills")
        self.torture.require(_scanned(self.data_dir) == _scanned(fresh), "the texts are not those of a fresh index")
        n_read = len(_scanned(self.data_dir))
        self.torture.require(n_read == self.n_pages, f"{n_read} of {self.n_pages} pages were read")

    def _start(self, data_dir: Path) -> subprocess.Popen[bytes]:
        words = [_DIRINDEX, "index", self.docs, "--quiet", "--config", self._config, "--data-dir", data_dir]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)  # noqa: S603 - our own command

    def _texts(self) -> set[str]:
        cache = PageCache(self.data_dir / "pages.db")
        if not cache.path.exists():
            return set()
        with contextlib.closing(sqlite3.connect(cache.path)) as connection:
            try:
                keys = [key for (key,) in connection.execute("SELECT key FROM pages WHERE content IS NOT NULL")]
            except sqlite3.OperationalError:  # killed before there was a table
                keys = []
        pages = [cache.get(key) for key in keys]
        return {"\n".join(line.text for line in page.lines) for page in pages if isinstance(page, Recognition)}


def _scanned(data_dir: Path) -> set[tuple[str, int, str]]:
    with contextlib.closing(sqlite3.connect(data_dir / "data.db")) as connection:
        return set(
            connection.execute(
                "SELECT f.path, s.page, s.engine FROM scans s JOIN files f ON f.id = s.file_id WHERE s.engine <> ''"
            )
        )
