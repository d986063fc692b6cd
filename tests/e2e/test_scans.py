"""Scanned pages, from the installed command to a hit with a place, through kills; `tesseract` is a stand-in."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess
from typing import Any

import pymupdf
import pytest
from commands import DIRINDEX, Process, run_command, start_command
from page_engines import Standin
from scanned_pages import document, picture, scan, tiff
from serving import RawClient

from directory_indexer.core.files import Recognition
from directory_indexer.storage.ocr_cache import OcrCache

LETTER = "The zeppelin will be late."
N_PAGES = 30

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script")


class Place:
    """A directory of documents, an index of it, and the command that reads its scans."""

    def __init__(self, root: Path) -> None:
        self.docs, self.data_dir = root / "docs", root / "data"
        self.docs.mkdir()
        self.standin = Standin(root / "tesseract")
        self.config = root / "config.json"
        self.configure()

    def configure(self, concurrency: int = 1, **ocr: Any) -> None:
        settings = {"engine": "tesseract", "tesseract": str(self.standin.command), **ocr}
        self.config.write_text(json.dumps({"ocr": settings, "indexing": {"concurrency": concurrency}}))

    def write(self, name: str, content: bytes) -> Path:
        path = self.docs / name
        path.write_bytes(content)
        return path

    @property
    def options(self) -> list[str | Path]:
        return ["--config", self.config, "--data-dir", self.data_dir]

    def start(self, *words: str | Path) -> Process:
        return start_command([DIRINDEX, *words, *self.options, "--quiet"], stderr=DEVNULL)

    def run(self, *words: str | Path) -> CompletedProcess[str]:
        return run_command([DIRINDEX, *words, *self.options], check=False)

    def json(self, *words: str | Path) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode in {0, 3}, done.stderr
        return json.loads(done.stdout)

    def is_kept(self, text: str) -> bool:
        """Tell whether it is kept what was read on a page."""
        pages = OcrCache(self.data_dir / "pages.db")
        with contextlib.closing(sqlite3.connect(pages.path)) as connection:
            keys = [key for (key,) in connection.execute("SELECT key FROM pages WHERE content IS NOT NULL")]
        found = [pages.get(key) for key in keys]
        return any(text in " ".join(line.text for line in one.lines) for one in found if isinstance(one, Recognition))

    @property
    def n_read(self) -> int:
        """Count the scans whose text the index has."""
        with contextlib.closing(sqlite3.connect(self.data_dir / "data.db")) as connection:
            return int(connection.execute("SELECT count(*) FROM scans WHERE engine <> ''").fetchone()[0])

    @property
    def calls(self) -> Counter[str]:
        """Count how often each page was read."""
        return Counter(text for kind, _, _, text in self.standin.calls if kind == "tsv")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def until(condition: Any, process: Process) -> None:
    """Wait for something that a process brings about."""
    while not condition():
        assert process.poll() is None, "it ended before"
        os.sched_yield()


def test_a_scan_is_found_with_its_page_and_the_place_on_it(place: Place) -> None:
    place.write("letter.pdf", document("The minutes of the meeting.", picture(f"Dear Jane,\n{LETTER}\nYours")))

    first = place.json("index", place.docs)
    second = place.json("index")
    [hit] = place.json("search", "zeppelin", "--mode", "keyword")["hits"]

    assert (first["pages"], first["pages_waiting"], first["pages_unreadable"], second["pages"]) == (1, 0, 0, 0)
    assert (hit["page"], hit["scan"]["engine"], hit["scan"]["confidence"]) == (2, "tesseract 5.3.0 (eng)", 0.96)
    [[left, top, right, bottom]] = hit["scan"]["marked"]
    assert (round(left, 1), round(top, 1), round(right, 2), round(bottom, 1)) == (0.2, 0.3, 0.36, 0.6)
    box = hit["scan"]["box"]
    assert box[0] <= left < right <= box[2]
    assert place.json("status")["pages"] == {"waiting": 0, "read": 1, "failed": 0}
    with RawClient(*map(str, place.options), environ=dict(os.environ)) as client:
        client.shake_hands()
        [passage] = client.call("search", query="zeppelin", mode="keyword")["structuredContent"]["hits"]
    assert (passage["page"], passage["scan"]) == (2, {"confidence": 0.96})
    assert "Tesseract 5.3.0, which reads deu, eng;" in place.run("doctor").stdout


def test_what_waits_for_ocr_is_told_before_and_after_files_are_read(place: Place) -> None:
    place.write("scan.png", picture(LETTER).png())

    first = place.run("index", place.docs, "--dry-run").stdout
    tokens = place.json("index", place.docs, "--dry-run")["tokens"]
    place.json("index", place.docs, "--no-ocr")
    second = place.run("index", "--dry-run").stdout
    missing = place.run("get", place.docs / "scan.png")

    assert "scanned pages of 1 PDF or picture to read are not known yet" in first
    assert tokens == 0
    assert "OCR        1 page waiting\n" in second
    assert "it was skipped: no text, 1 page waits for OCR" in missing.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="/proc names the children of a process")
@pytest.mark.slow  # test_recognising: what was read is not read again
@pytest.mark.parametrize("victim", ["run", "worker"])
def test_a_kill_in_the_midst_of_thirty_pages_loses_none_and_reads_none_twice(place: Place, victim: str) -> None:
    texts = [f"Page number {number} of the letter." for number in range(N_PAGES)]
    place.write("letter.pdf", scan(*texts))
    place.configure(2, languages=["eng"])
    place.standin.tell(on={"number 17 ": "wait go"})
    run = place.start("index", place.docs)
    until(lambda: list(place.standin.place.glob("came *")) and len(place.standin.calls) >= 19, run)
    kept_before = {text for text, n_calls in place.calls.items() if place.is_kept(text) and n_calls == 1}

    if victim == "run":
        run.kill()
        run.wait()
        place.standin.tell()
        assert place.start("index").wait() == 0
    else:
        [held, *_] = [int(one.name.split()[1]) for one in place.standin.place.glob("came *")]
        os.kill(_parent(held), signal.SIGKILL)
        place.standin.tell()
        assert run.wait() == 0

    assert place.n_read == N_PAGES
    assert set(place.calls) == set(texts)
    assert len(kept_before) >= 10
    assert {place.calls[text] for text in kept_before} == {1}
    assert sum(place.calls.values()) <= N_PAGES + 6  # those in hand: a few for each worker
    assert not _processes_of(place.standin.place)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _processes_of(place: Path) -> list[str]:
    """Name what still runs of a stand-in."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(place).encode() in one.read_bytes():
                found.append(one.parent.name)
    return found


@pytest.mark.slow
def test_a_crash_or_a_refusal_of_the_command_costs_a_page(place: Place) -> None:
    place.write("letter.pdf", document("The minutes of the meeting.", picture(LETTER), picture("Boil the carrots.")))
    place.configure(languages=["eng"])
    place.standin.tell(on={"zeppelin": "crash"})

    reports = [place.json("index", place.docs) for _ in range(4)]

    assert [(one["pages_waiting"], one["pages_unreadable"]) for one in reports] == [(1, 0), (1, 0), (0, 1), (0, 1)]
    assert (place.calls[LETTER], place.calls["Boil the carrots."]) == (3, 1)
    assert place.json("status")["pages"] == {"waiting": 0, "read": 1, "failed": 1}
    place.standin.tell(version="5.4.0")
    assert place.json("index")["pages_unreadable"] == 0
    assert place.json("search", "zeppelin", "--mode", "keyword")["hits"][0]["scan"]["engine"] == "tesseract 5.4.0 (eng)"


@pytest.mark.slow
def test_a_command_that_is_removed_amid_a_run_is_told_and_its_pages_wait(place: Place) -> None:
    place.write("letter.pdf", scan(*(f"Page number {number} of the letter." for number in range(8))))
    place.configure(languages=["eng"])
    place.standin.tell(on={"number 3 ": "wait go"})
    run = place.start("index", place.docs)
    until(lambda: list(place.standin.place.glob("came *")), run)
    elsewhere = place.standin.command.rename(place.standin.place / "elsewhere")
    (place.standin.place / "go").touch()

    assert run.wait() == 3
    elsewhere.rename(place.standin.command)

    with contextlib.closing(sqlite3.connect(place.data_dir / "pages.db")) as connection:
        assert connection.execute("SELECT count(*) FROM pages WHERE problem <> ''").fetchone() == (0,)
    assert place.json("index")["pages_waiting"] == 0
    assert place.n_read == 8


@pytest.mark.slow
def test_pages_wait_where_nothing_is_to_read_them(place: Place) -> None:
    place.write("letter.pdf", document("The minutes of the meeting.", picture(LETTER)))
    place.configure(tesseract="no-such-tesseract")

    none = place.json("index", place.docs, "--no-ocr")
    failed = place.run("index")

    assert (none["pages"], none["pages_waiting"]) == (0, 1)
    assert (failed.returncode, "ocr.engine is tesseract, which is not installed" in failed.stdout + failed.stderr) == (
        3,
        True,
    )
    assert place.json("search", "minutes of a meeting")["hits"][0]["page"] == 1
    place.configure()
    assert place.json("index", "--max-ocr-pages", "5")["pages"] == 1


@pytest.mark.slow
def test_forgotten_pages_are_read_again(place: Place) -> None:
    place.write("letter.pdf", scan(LETTER))
    place.json("index", place.docs)
    (place.data_dir / "data.db").unlink()
    place.json("index", place.docs)
    assert place.calls[LETTER] == 1

    place.run("doctor", "--forget-pages")
    assert place.json("index", "--force")["pages"] == 1

    assert place.calls[LETTER] == 2


@pytest.mark.slow
def test_an_index_of_before_scans_were_read_gets_their_text_and_embeds_nothing_else(place: Place) -> None:
    place.write("letter.pdf", document("The minutes of the meeting.", picture(LETTER)))
    place.write("scan.png", picture("Boil the carrots.").png())
    place.write("note.md", b"A note on airships.\n")
    place.configure(engine="off")
    place.json("index", place.docs)
    _as_of_schema_9(place.data_dir / "data.db")
    place.configure()

    found = place.json("search", "minutes", "--mode", "keyword")["hits"]
    report = place.json("index", "--yes")

    assert [one["path"] for one in found] == [str(place.docs / "letter.pdf")]
    assert (report["pages"], report["pages_waiting"]) == (2, 0)
    assert report["embedded"] == 2  # the letter, whose one passage goes on over the second page, and the scan
    assert place.json("search", "carrots", "--mode", "keyword")["hits"][0]["path"] == str(place.docs / "scan.png")


def _as_of_schema_9(database: Path) -> None:
    """Take an index for what the version before scans were read has left."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript("""
            DROP TABLE scans;
            DROP TABLE IF EXISTS static_model;
            DROP TABLE IF EXISTS static_vectors;
            DROP TABLE IF EXISTS search_vectors;
            DROP TABLE paused_runs;
            DROP INDEX chunks_in_words;
            ALTER TABLE chunks DROP COLUMN line_cut;
            ALTER TABLE runs DROP COLUMN origin;
            ALTER TABLE runs DROP COLUMN options;
            ALTER TABLE runs DROP COLUMN pages_done;
            ALTER TABLE runs DROP COLUMN pages_total;
            DROP INDEX files_that_share;
            DROP INDEX files_tagged_elsewhere;
            ALTER TABLE files DROP COLUMN holder_id;
            ALTER TABLE files DROP COLUMN tagged_below;
            PRAGMA user_version = 9;
        """)
        [stored] = connection.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
        fingerprint = json.loads(stored)
        fingerprint.pop("pictured")
        fingerprint["formats"]["pdf"] -= 1
        connection.execute("UPDATE meta SET value = ? WHERE key = 'fingerprint'", (json.dumps(fingerprint),))


def _hostile_pictures(place: Place) -> None:
    png, jpeg = picture(LETTER).png(), picture(LETTER).jpeg()
    place.write("vast.png", png[:16] + (60_000).to_bytes(4, "big") * 2 + png[24:])
    place.write("endless.tiff", _endless_tiff())
    place.write("cut.jpeg", jpeg[: len(jpeg) // 2])
    place.write("noise.png", png[:60] + bytes(range(256)) * 40 + png[60:])
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=10_000_000, height=14_000_000)
        page.insert_image(page.rect, stream=picture("The page is vast.").png())
        place.write("vast.pdf", pdf.tobytes())


def _endless_tiff() -> bytes:
    one = tiff(picture("The page names itself as the next."))
    at = one.index(b"\0\0\0\0", 8 + 2 + 12 * 9)
    return one[:at] + (8).to_bytes(4, "little") + one[at + 4 :]


@pytest.mark.slow
def test_hostile_pictures_cost_themselves_and_nothing_else(place: Place) -> None:
    _hostile_pictures(place)
    place.write("letter.pdf", document("The minutes of the meeting.", picture("Boil the carrots.")))
    place.write("note.md", b"A note on airships.\n")

    reports = [place.json("index", place.docs) for _ in range(4)]

    assert (reports[-1]["pages"], reports[-1]["pages_waiting"]) == (0, 0)
    for query, name in (("carrots", "letter.pdf"), ("airships", "note.md"), ("vast", "vast.pdf")):
        [hit] = place.json("search", query, "--mode", "keyword")["hits"]
        assert hit["path"] == str(place.docs / name)
    status = place.json("status", "--verbose")
    assert {Path(one["path"]).name for one in status["unreadable_pages"]} >= {
        "vast.png",
        "endless.tiff",
        "noise.png",
    }
    assert max(Counter(text for _, _, _, text in place.standin.calls).values()) <= 2
