"""Scanned pages are read behind the words and before the vectors, each once, whatever happens meanwhile."""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

import pytest
from archives import zipped
from indexes import FINGERPRINT, Index
from office_files import docx, paragraph, pptx
from page_engines import FakeEngine, FakeReading
from scanned_pages import blank, document, picture, scan, tiff

from directory_indexer.core.errors import ExitCode
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.ocr.engine_selection import OcrSettings
from directory_indexer.search.file_texts import Selection, SelectionUnit, read_text
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.incomplete_files import ScanCounts
from directory_indexer.storage.documents.runs import Outcome, Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from directory_indexer.core.files import Scan
    from directory_indexer.ocr.engine import PageRequest

LETTER = "The zeppelin will be late."
RECIPE = "Boil the carrots with ginger."


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def index(tmp_path: Path, engine: FakeEngine) -> Iterator[Index]:
    root = tmp_path / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=tmp_path / "data", pages=engine, max_file_size=10_000_000)
    yield index
    index.close()


def words(index: Index, query: str) -> list[str]:
    return index.names(query, mode=SearchMode.KEYWORD)


def counts(index: Index) -> ScanCounts:
    with index.docstore.snapshot() as snapshot:
        return snapshot.scans.counts()


def before_page(index: Index, number: int, work: Callable[[], object]) -> None:
    """Do something before a run reads the page of that number, counted from 1."""
    reading = index.app.runs.page_reading
    assert isinstance(reading, FakeReading)
    n_pages = Counter[str]()

    def before(_: PageRequest) -> None:
        n_pages["read"] += 1
        if n_pages["read"] == number:
            work()

    reading.before = before


def text_of(index: Index, name: str) -> str:
    with index.docstore.snapshot() as snapshot:
        return read_text(snapshot, file_path(index.root / name), None).text


def unread(index: Index, selection: Selection | None) -> tuple[int, ...]:
    with index.docstore.snapshot() as snapshot:
        return read_text(snapshot, file_path(index.root / "letter.pdf"), selection).unread_pages


def test_the_words_of_text_pages_are_found_before_any_page_is_read(index: Index) -> None:
    index.write_bytes("letter.pdf", document("The minutes of the meeting.", picture(LETTER)))
    index.write("note.md", "A note on airships.\n")
    found: list[list[str]] = []
    before_page(
        index, 1, lambda: found.append([*words(index, "minutes"), *words(index, "airships"), *words(index, "zeppelin")])
    )

    report = index.run()

    assert found == [["letter.pdf", "note.md"]]
    assert words(index, "zeppelin") == ["letter.pdf"]
    assert (report.n_added, report.n_pages, report.n_pages_waiting, report.exit_code) == (2, 1, 0, ExitCode.DONE)
    phases = list(dict.fromkeys(progress.phase for progress in index.progress))
    assert [phase for phase in phases if phase in {Phase.READING, Phase.RECOGNISING, Phase.EMBEDDING}] == [
        Phase.READING,
        Phase.RECOGNISING,
        Phase.EMBEDDING,
    ]


def test_progress_is_counted_in_pages(index: Index) -> None:
    for number in range(3):
        index.write_bytes(f"{number}.png", picture(f"Letter number {number}").png())
    index.run()
    seen = [(one.pages_done, one.pages_total) for one in index.progress if one.phase is Phase.RECOGNISING]
    assert list(dict.fromkeys(seen)) == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_progress_counts_no_pages_that_are_not_to_be_read(index: Index) -> None:
    for number in range(4):
        index.write_bytes(f"{number}.png", picture(f"Letter number {number}").png())
    index.run(options=IndexOptions(wait=False, most_pages=2))
    seen = [(one.pages_done, one.pages_total) for one in index.progress if one.phase is Phase.RECOGNISING]
    assert list(dict.fromkeys(seen)) == [(0, 2), (1, 2), (2, 2)]


def test_pages_that_were_read_ahead_of_their_document_are_known(index: Index) -> None:
    pages = [picture(f"Letter number {number}") for number in range(5)]
    index.write_bytes("letters.pdf", document("The minutes of the meeting.", *pages))
    index.run(options=IndexOptions(wait=False, most_pages=0))
    ocr_runner = index.app.runs.ocr_runner

    steps = list(ocr_runner.recognise_pages(most_pages=3, must_stop=lambda: False))

    assert ocr_runner.counts() == ScanCounts(5, 0, 0)
    assert ocr_runner.count_pages_read_ahead() == sum(step.n_read for step in steps) == 3
    index.run(options=IndexOptions(wait=False, most_pages=0))
    assert ocr_runner.counts() == ScanCounts(2, 3, 0)
    assert ocr_runner.count_pages_read_ahead() == 0


def test_a_hit_tells_where_on_the_scanned_page_it_stands(index: Index) -> None:
    index.write_bytes("letter.pdf", document("The minutes of the meeting.", picture(f"{LETTER}\n\nYours\n\nJane Doe")))
    index.run()

    [hit] = index.search("zeppelin", mode=SearchMode.KEYWORD)

    assert hit.page == 2
    assert hit.scan is not None
    assert (hit.scan.engine, hit.scan.confidence) == ("fake 1", 0.96)
    [marked] = hit.scan.marked
    assert (round(marked.left, -2), marked.top) == (2000, 0)
    assert hit.scan.box is not None
    assert hit.scan.box.left <= marked.left < marked.right <= hit.scan.box.right
    [text_hit] = index.search("minutes", mode=SearchMode.KEYWORD)
    assert text_hit.scan is None


def test_of_a_long_document_pages_are_found_before_all_are_read(index: Index, engine: FakeEngine) -> None:
    index.write_bytes("book.pdf", scan(*(f"Chapter number{number} begins here." for number in range(1, 23))))
    found: list[list[str]] = []
    for_now = lambda: found.append([*words(index, "number1"), *words(index, "number20"), *words(index, "number21")])  # noqa: E731
    before_page(index, 22, for_now)

    index.run()

    assert found == [["book.pdf", "book.pdf"]]
    assert words(index, "number22") == ["book.pdf"]
    assert Counter(engine.read).most_common(1)[0][1] == 1


@pytest.mark.slow
def test_a_document_that_has_one_page_many_times_is_read_again_once(index: Index, engine: FakeEngine) -> None:
    index.write_bytes("copies.pdf", scan(*[LETTER] * 90))

    report = index.run()

    assert engine.read == [LETTER]
    with index.docstore.snapshot() as snapshot:
        n_chunks = snapshot.chunks.count()
    assert (report.n_pages, report.n_chunks) == (90, n_chunks)


def test_pages_that_are_too_many_for_a_run_wait_for_the_next_one(index: Index, engine: FakeEngine) -> None:
    for number in range(4):
        index.write_bytes(f"{number}.png", picture(f"Letter number {number}").png())

    none = index.run(options=IndexOptions(wait=False, most_pages=0))
    one = index.run(options=IndexOptions(wait=False, most_pages=1))
    rest = index.run()

    assert (none.n_pages, none.n_pages_waiting) == (0, 4)
    assert (one.n_pages, one.n_pages_waiting) == (1, 3)
    assert (rest.n_pages, rest.n_pages_waiting) == (3, 0)
    assert len(engine.read) == len(set(engine.read)) == 4


def test_what_is_missing_of_a_text_is_said(index: Index) -> None:
    index.write_bytes("letter.pdf", document("The minutes of the meeting.", picture(LETTER), picture(RECIPE)))
    index.run(options=IndexOptions(wait=False, most_pages=0))

    assert unread(index, None) == (2, 3)
    assert unread(index, Selection(SelectionUnit.PAGES, 1, 1)) == ()
    assert unread(index, Selection(SelectionUnit.PAGES, 3, 9)) == (3,)
    assert unread(index, Selection(SelectionUnit.LINES, 1, 1)) == (2, 3)
    assert index.searcher.search(index.request("zeppelin", mode=SearchMode.KEYWORD)).note_texts == (
        "missing here: 2 scanned pages that wait for OCR; dirindex status -v names them",
    )

    index.run()

    assert unread(index, None) == ()
    assert index.searcher.search(index.request("submarine", mode=SearchMode.KEYWORD)).note_texts == ()


def test_a_run_that_is_stopped_goes_on_with_the_next_page(index: Index, engine: FakeEngine) -> None:
    for number in range(5):
        index.write_bytes(f"{number}.png", picture(f"Letter number {number}").png())
    stopped: list[Outcome] = []
    before_page(index, 3, lambda: stopped.append(Outcome.INTERRUPTED))

    first = index.run(stop_reason=lambda: stopped[0] if stopped else None)
    before_page(index, 0, lambda: None)
    second = index.run()

    assert first.outcome is Outcome.INTERRUPTED
    assert (first.n_pages, first.n_pages_waiting) == (3, 2)
    assert (second.outcome, second.n_pages_waiting) == (Outcome.COMPLETED, 0)
    assert len(engine.read) == len(set(engine.read)) == 5
    assert len(words(index, "letter")) == 5


def test_a_page_that_was_read_and_not_written_is_not_read_again(index: Index, engine: FakeEngine) -> None:
    """A run may die between the two, or the index may be lost."""
    index.write_bytes("letter.png", picture(LETTER).png())
    index.run()
    waiting = [one._replace(engine="", confidence=None) for one in scans_of(index, "letter.png")]
    with index.docstore.transaction() as transaction:
        transaction.scans.put(1, waiting)

    report = index.run()

    assert (engine.read, report.n_pages, counts(index).n_read) == ([LETTER], 1, 1)


def scans_of(index: Index, name: str) -> list[Scan]:
    with index.docstore.snapshot() as snapshot:
        return list(snapshot.scans.scans_of([file_path(index.root / name)]).values())


def test_a_page_that_two_documents_have_is_read_once(index: Index, engine: FakeEngine) -> None:
    index.write_bytes("one.pdf", scan(LETTER))
    index.write_bytes("two.pdf", scan(RECIPE, LETTER))
    index.write_bytes("letter.png", picture(LETTER).png())
    index.write_bytes("copies/letter.png", picture(LETTER).png())

    index.run()

    assert sorted(engine.read) == sorted([LETTER, LETTER, RECIPE])  # once in PDFs, once as a picture
    for name in ("copies/letter.png", "letter.png", "one.pdf", "two.pdf"):
        assert LETTER in text_of(index, name)


def mail_with(content: bytes) -> bytes:
    message = EmailMessage()
    message["Subject"] = "Your letter"
    message.set_content("Please find it attached.")
    message.add_attachment(content, maintype="image", subtype="png", filename="scan.png")
    return message.as_bytes()


def test_scans_are_read_wherever_they_lie(index: Index, engine: FakeEngine) -> None:
    pictured = picture("A picture in a document").png()
    index.write_bytes("a.zip", zipped({"letters/one.png": picture("A picture in an archive").png()}))
    index.write_bytes("letter.eml", mail_with(picture("A picture in a message").png()))
    index.write_bytes("report.docx", docx(paragraph("The text of it."), {"word/media/image1.png": pictured}))
    index.write_bytes("pages.tiff", tiff(picture("A picture in a file"), blank(), picture("Another page of that")))
    index.write_bytes(
        "slides.pptx", pptx({"one": ""}, {"ppt/media/image7.jpeg": picture("A picture on a slide").jpeg()})
    )
    index.write_bytes("logo.png", blank(100, 100).png())

    report = index.run()

    assert sorted(words(index, "picture")) == [
        "a.zip!/letters/one.png",
        "letter.eml!/scan.png",
        "pages.tiff",
        "report.docx!/word/media/image1.png",
        "slides.pptx!/ppt/media/image7.jpeg",
    ]
    [hit] = index.search("another", mode=SearchMode.KEYWORD)
    assert hit.page == 3
    assert report.n_failed == 0
    assert len(engine.read) == 6
    assert counts(index) == ScanCounts(0, 7, 0)
    before = index.run()
    assert (before.n_pages, len(engine.read)) == (0, 6)


def test_of_a_container_each_scan_is_unpacked_once(
    index: Index, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"Letter number {number}" for number in range(12)]
    inner = zipped({f"inner{number}.png": picture(text).png() for number, text in enumerate(texts[6:])})
    outer = {f"{9 - number}.png": picture(text).png() for number, text in enumerate(texts[:6])}
    index.write_bytes("a.zip", zipped({**outer, "inner.zip": inner}))
    opened: list[str] = []
    open_member = zipfile.ZipFile.open

    def noted(archive: zipfile.ZipFile, member: zipfile.ZipInfo, *more: Any) -> Any:
        opened.append(member.filename)
        return open_member(archive, member, *more)

    monkeypatch.setattr(zipfile.ZipFile, "open", noted)
    report = index.run()

    assert (report.n_pages, engine.read) == (12, texts)
    assert Counter(opened).most_common(1)[0][1] == 1
    assert len(opened) == 13


@pytest.mark.slow
def test_a_scan_deep_in_a_large_archive_is_read(index: Index, engine: FakeEngine) -> None:
    filling = (hashlib.shake_256(b"noise").digest(20_000) * 500)[:9_999_000]
    before = {f"{number:02}": filling for number in range(26)}
    index.write_bytes("a.zip", zipped({**before, "z": picture(LETTER).png()}))

    report = index.run()

    assert (engine.read, report.n_pages_waiting) == ([LETTER], 0)


def test_a_document_that_changes_while_its_pages_are_read_is_read_by_the_next_run(
    index: Index, engine: FakeEngine
) -> None:
    path = index.write_bytes("a.png", picture(LETTER).png())
    before_page(index, 1, lambda: path.write_bytes(picture(RECIPE).png()))

    first = index.run()
    second = index.run()

    assert first.n_failed == 0
    assert words(index, "zeppelin") == []
    assert words(index, "carrots") == ["a.png"]
    assert (engine.read, second.n_pages_waiting) == ([RECIPE], 0)


def test_a_document_that_disappears_while_its_pages_are_read_leaves_with_the_next_run(index: Index) -> None:
    path = index.write_bytes("a.pdf", document("The minutes of the meeting.", picture(LETTER)))
    index.write_bytes("b.png", picture(RECIPE).png())
    before_page(index, 1, path.unlink)

    index.run()
    second = index.run()

    assert words(index, "carrots") == ["b.png"]
    assert (second.n_removed, second.n_failed, counts(index)) == (1, 0, ScanCounts(0, 1, 0))


def test_a_page_that_no_engine_can_read_is_tried_three_times(index: Index, engine: FakeEngine) -> None:
    engine.broken = {"zeppelin"}
    index.write_bytes("a.pdf", document("The minutes of the meeting.", picture(LETTER)))
    index.write_bytes("b.png", picture(RECIPE).png())

    states = [(index.run(), counts(index)) for _ in range(4)]

    assert [state for _, state in states] == [
        ScanCounts(1, 1, 0),
        ScanCounts(1, 1, 0),
        ScanCounts(0, 1, 1),
        ScanCounts(0, 1, 1),
    ]
    assert engine.read.count(LETTER) == 3
    reports = [(report.n_pages, report.n_pages_waiting, report.n_pages_unreadable) for report, _ in states]
    assert reports == [(1, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 1)]
    assert words(index, "minutes") == ["a.pdf"]
    with index.docstore.snapshot() as snapshot:
        [(path, one)] = snapshot.scans.problems(within=None, limit=5)
    assert (path, one.page, one.problem) == (str(index.root / "a.pdf"), 2, "the engine gives up")


def test_an_engine_that_is_gone_costs_no_page_an_attempt(index: Index, engine: FakeEngine) -> None:
    for number in range(4):
        index.write_bytes(f"{number}.png", picture(f"Letter number {number}").png())
    index.write("note.md", "A note on airships.\n")
    before_page(index, 2, lambda: setattr(engine, "is_gone", True))

    reports = [index.run() for _ in range(4)]

    assert [(one.n_pages, one.n_pages_waiting) for one in reports] == [(1, 3), (0, 3), (0, 3), (0, 3)]
    assert {one.exit_code for one in reports} == {ExitCode.UNAVAILABLE}
    assert "not even an empty one: the engine is gone" in (reports[0].unavailable or "")
    assert reports[0].n_embedded > 0
    engine.is_gone = False
    assert (index.run().n_pages, counts(index)) == (3, ScanCounts(0, 4, 0))


def test_another_version_of_the_engine_tries_again(index: Index, engine: FakeEngine) -> None:
    engine.broken = {"zeppelin"}
    index.write_bytes("a.png", picture(LETTER).png())
    for _ in range(3):
        index.run()
    assert counts(index) == ScanCounts(0, 0, 1)

    engine.broken, engine.recipe = set(), "fake 2"
    report = index.run()

    assert (report.n_pages, report.n_pages_unreadable, counts(index)) == (1, 0, ScanCounts(0, 1, 0))
    assert words(index, "zeppelin") == ["a.png"]


def test_no_page_is_read_where_none_can_be_kept(index: Index, engine: FakeEngine) -> None:
    index.write_bytes("a.pdf", document("The minutes of the meeting.", picture(LETTER)))
    cache = index.app.policies.page_cache
    cache.path.parent.mkdir(exist_ok=True)
    cache.path.mkdir()

    report = index.run()

    assert (engine.read, report.n_pages_waiting, report.exit_code) == ([], 1, ExitCode.UNAVAILABLE)
    assert "pages.db' cannot be written" in (report.unavailable or "")
    assert report.n_embedded > 0
    cache.path.rmdir()
    assert (index.run().n_pages, engine.read) == (1, [LETTER])


def test_what_is_forgotten_leaves_the_pages_too(index: Index) -> None:
    index.write_bytes("a.png", picture(LETTER).png())
    index.run()
    cache = index.app.policies.page_cache
    assert cache.summary().n_pages == 1

    index.indexer.forget(str(index.root))

    assert cache.summary().n_pages == 0


def test_a_rebuilt_index_reads_no_page_again(index: Index, engine: FakeEngine) -> None:
    index.write_bytes("a.pdf", document("The minutes of the meeting.", picture(LETTER)))
    index.write_bytes("b.png", picture(RECIPE).png())
    index.run()
    index.close()
    for end in ("", "-wal", "-shm"):
        (index.data_dir / f"data.db{end}").unlink(missing_ok=True)

    other = Index(root=index.root, data_dir=index.data_dir, pages=engine, max_file_size=10_000_000)
    report = other.run(options=IndexOptions(wait=False, has_consent=True))

    assert (report.n_pages, len(engine.read), counts(other)) == (0, 2, ScanCounts(0, 2, 0))
    assert words(other, "zeppelin") == ["a.pdf"]
    other.close()


def test_text_that_was_embedded_is_not_embedded_again_with_the_page(index: Index) -> None:
    text = "\n".join(f"Item {number} of the minutes of this meeting." for number in range(15))
    index.write_bytes("a.pdf", document(text, picture(LETTER)))
    index.run(options=IndexOptions(wait=False, most_pages=0))
    first = set(index.embedder.embedded)

    index.run()

    assert first
    assert len(first & set(index.embedder.embedded)) <= 1  # the last chunk of the text goes on with the page
    assert any("zeppelin" in text for text in index.embedder.embedded)


def test_when_no_page_is_read_nothing_else_is_missing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    missing = OcrSettings(engine="tesseract", tesseract="no-such-tesseract")
    for number, ocr in enumerate((OcrSettings(engine="off"), missing)):
        index = Index(root=tmp_path / "docs", data_dir=tmp_path / f"data{number}", ocr=ocr, max_file_size=10_000_000)
        index.write_bytes("a.pdf", document("The minutes of the meeting.", picture(LETTER)))
        index.write_bytes("b.png", picture(RECIPE).png())

        report = index.run()

        assert words(index, "minutes") == ["a.pdf"]
        assert index.names("minutes", mode=SearchMode.SEMANTIC) == ["a.pdf"]
        assert report.n_failed == 0
        if ocr.engine == "off":
            assert (report.exit_code, report.n_pages_waiting, report.ocr_advice) == (
                ExitCode.DONE,
                1,
                "ocr.engine is off",
            )
        else:
            assert (report.exit_code, report.n_pages_waiting) == (ExitCode.UNAVAILABLE, 2)
            assert "ocr.engine is tesseract, which is not" in report.unavailable
        index.close()


def test_pictures_are_read_when_ocr_is_switched_on_later(tmp_path: Path, engine: FakeEngine) -> None:
    (tmp_path / "docs").mkdir()
    versions = FINGERPRINT._replace(formats={"png": 1, "docx": 1})
    off = Index(root=tmp_path / "docs", data_dir=tmp_path / "data", fingerprint=versions)
    off.write_bytes("a.png", picture(LETTER).png())
    off.write_bytes("a.docx", docx(paragraph("The text."), {"word/media/image1.png": picture(RECIPE).png()}))
    off.run()
    off.close()

    pictured = versions._replace(pictured=("docx", "png"))
    on = Index(root=tmp_path / "docs", data_dir=tmp_path / "data", pages=engine, fingerprint=pictured)
    on.run()

    assert words(on, "zeppelin") == ["a.png"]
    assert words(on, "carrots") == ["a.docx!/word/media/image1.png"]
    on.close()


SECRET = "ghp_" + "Zk3vQ9xTr7Lw2Nf8Hc5Yb1Md6Js4Pg0aEuXi"


def test_secrets_on_scanned_pages_are_masked(index: Index) -> None:
    index.write_bytes("a.png", picture(f"The token of the zeppelin\nis {SECRET} for now\nand nobody else has it").png())
    index.run()

    [hit] = index.search("zeppelin token nobody", mode=SearchMode.KEYWORD)

    assert SECRET not in hit.text + hit.excerpt.text + text_of(index, "a.png")
    assert words(index, SECRET) == []
    assert hit.scan is not None
    assert len(hit.scan.marked) == 3
    rows = [round(box.top / 3333) for box in hit.scan.marked]
    assert rows == [0, 0, 2]
