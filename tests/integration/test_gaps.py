"""What is missing in an answer is said in it."""

from __future__ import annotations

import io
import os
import zipfile
from typing import TYPE_CHECKING

import pymupdf
import pytest
from scanned_pages import scan

from directory_indexer.api.hits import Remark, search_answer
from directory_indexer.core.notes import Note, NoteKind, prefix_note
from directory_indexer.core.paths import file_path
from directory_indexer.matching import PatternOptions
from directory_indexer.search.grep import GrepRequest, grep, grep_warnings
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indexes import Index


def encrypted_pdf() -> bytes:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "hidden words")
    return bytes(document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="x", owner_pw="y"))


def blank_pdf() -> bytes:
    document = pymupdf.open()
    document.new_page()
    return bytes(document.tobytes())


def broken_docx() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w:document")
    return packed.getvalue()


FAILED, TOO_LARGE, ENCRYPTED, NO_TEXT = (
    "1 file that failed",
    "1 file too large",
    "1 encrypted file",
    "1 file without text",
)


def test_what_is_missing_stands_apart_from_notes_on_the_question(index: Index) -> None:
    index.write("a.md", "lanterns of the harbour")
    index.write_bytes("blank.pdf", blank_pdf())
    index.run()
    result = index.searcher.search(index.request("lantern type:pfd", mode=SearchMode.KEYWORD))
    assert [note.kind for note in result.notes if note.is_standing] == [NoteKind.MISSING]
    assert NoteKind.ANSWER in {note.kind for note in result.notes}


def test_a_program_gets_what_a_note_is_about_apart_from_what_to_type(index: Index) -> None:
    index.write("a.md", "lanterns of the harbour")
    index.write_bytes("blank.pdf", blank_pdf())
    index.run()
    result = index.searcher.search(index.request("lantern", mode=SearchMode.KEYWORD))
    answer = search_answer(result, index=result.summary, hits=(), next_cursor=None)
    assert answer.notes == (f"missing here: {NO_TEXT}; dirindex status -v names them",)
    assert answer.remarks == (Remark("missing", f"missing here: {NO_TEXT}", "dirindex status -v names them"),)


def test_a_note_that_counts_for_one_question_is_the_same_note_for_the_next() -> None:
    notes = (f"9 of 80 passages wait: {n} were embedded" for n in (1, 2))
    first, second = (Note(note, NoteKind.EMBEDDING, key="80 passages") for note in notes)
    assert str(first) != str(second)
    assert first.identity == second.identity
    assert Note("missing here: 1 file", command="look").identity == "missing here: 1 file; look"


def test_a_note_of_a_collection_keeps_its_kind_and_its_key() -> None:
    notes = (Note(f"{n} of 80 passages wait", NoteKind.EMBEDDING, key="80 passages") for n in (1, 2))
    first, second = (prefix_note(note, "birds") for note in notes)
    assert (str(first), first.identity) == ("birds: 1 of 80 passages wait", second.identity)
    assert first.is_standing
    assert prefix_note(Note("no such type"), "birds").identity == "birds: no such type"


def notes(index: Index, query: str, **options: object) -> str:
    mode = SearchMode.KEYWORD if query == "xylophone" else SearchMode.HYBRID
    return " ".join(index.searcher.search(index.request(query, **{"mode": mode, **options})).note_texts)


def grep_notes_of(index: Index, pattern: str) -> str:
    request = GrepRequest(PatternOptions((pattern,)))
    with index.docstore.snapshot() as snapshot:
        found = grep(snapshot, request)
        has_any = bool(list(found.files))
        return " ".join(grep_warnings(snapshot, request, found, has_any=has_any, seconds=0.0))


def locked_zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "hidden words")
    content = bytearray(packed.getvalue())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    return bytes(content)


IN_EVERY_ANSWER: dict[str, tuple[bytes, str]] = {
    "broken.pdf": (b"%PDF-1.7 and no more", FAILED),
    "cut.pdf": (blank_pdf()[:300], FAILED),
    "broken.docx": (broken_docx(), FAILED),
    "broken.xlsx": (b"PK\x03\x04 and no more", FAILED),
    "broken.epub": (b"PK\x03\x04 and no more", FAILED),
    "broken.pptx": (b"PK\x03\x04 and no more", FAILED),
    "broken.zip": (b"PK\x03\x04 and no more", FAILED),
    "broken.ipynb": (b"{ no notebook", FAILED),
    "large.txt": (b"words " * 200_000, TOO_LARGE),
    "large.md": (b"# words\n" * 200_000, TOO_LARGE),
    "large.py": (b"words = 1\n" * 200_000, TOO_LARGE),
    "locked.pdf": (encrypted_pdf(), ENCRYPTED),
    "locked.zip": (locked_zip(), ENCRYPTED),
    "blank.pdf": (blank_pdf(), NO_TEXT),
    "scan.pdf": (scan("words of a scan"), "1 scanned page that waits for OCR"),
}
KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----\n"
WHERE_NOTHING_IS_FOUND: dict[str, tuple[Callable[[Path], object], str]] = {
    "program.bin": (lambda path: path.write_bytes(bytes(range(256)) * 40), "1 file of no known format"),
    "empty.md": (lambda path: path.write_bytes(b""), "1 empty file"),
    "id_rsa": (lambda path: path.write_bytes(KEY), "1 file left out as a secret"),
    "other.md": (lambda path: path.symlink_to(path.with_name("harbour.md")), "1 link that is not followed"),
    "gone.md": (lambda path: path.symlink_to(path.with_name("nowhere")), "1 link that is not followed"),
    "pipe.md": (lambda path: os.mkfifo(path), "1 file that is not regular"),  # noqa: PLW0108 - Windows has none
}
IN_SEARCHES_AND_GREPS = (notes, grep_notes_of)


@pytest.mark.parametrize("name", IN_EVERY_ANSWER)
def test_a_file_that_cannot_be_found_is_counted_in_every_answer(index: Index, name: str) -> None:
    content, said = IN_EVERY_ANSWER[name]
    index.max_file_size = 1_000_000
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.write_bytes(f"below/{name}", content)
    index.run()
    for notes_of in IN_SEARCHES_AND_GREPS:
        assert f"missing here: {said}; dirindex status -v names them" in notes_of(index, "boats of the harbour")


@pytest.mark.parametrize("name", WHERE_NOTHING_IS_FOUND)
def test_what_is_usual_is_counted_where_nothing_is_found(index: Index, name: str) -> None:
    if os.name != "posix" and name in {"other.md", "gone.md", "pipe.md"}:
        pytest.skip("links and pipes of POSIX")
    make, said = WHERE_NOTHING_IS_FOUND[name]
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    make(index.root / name)
    index.run()
    for notes_of in IN_SEARCHES_AND_GREPS:
        assert f"missing here: {said}; dirindex status -v names them" in notes_of(index, "xylophone")
        assert "missing" not in notes_of(index, "boats of the harbour")


def test_a_directory_that_no_run_has_finished_is_named(index: Index) -> None:
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.run()
    with index.docstore.transaction() as transaction:
        transaction.directories.add(file_path(str(index.root.parent / "more")))
    for notes_of in IN_SEARCHES_AND_GREPS:
        assert f"the first run over {index.root.parent / 'more'} has not ended" in notes_of(index, "boats")


def test_what_lies_elsewhere_is_not_counted(index: Index) -> None:
    index.write("a/harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.write_bytes("b/broken.pdf", b"%PDF-1.7 and no more")
    index.run()
    here, there = file_path(str(index.root / "a")), file_path(str(index.root / "b"))
    assert "missing" not in notes(index, "boats", scope=(here,))
    assert "missing" in notes(index, "boats", scope=(here, there))
    assert "missing" not in notes(index, "boats -path:b/")
    assert "missing" not in notes(index, "boats", globs=("*.md",))
    assert "missing" not in notes(index, "boats type:markdown")
    assert "missing" in notes(index, "boats", globs=("*.md", "*.pdf"))


def test_nothing_is_said_where_nothing_is_missing(index: Index) -> None:
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.run()
    assert notes(index, "boats") == ""
    with index.docstore.snapshot() as snapshot:
        assert snapshot.left_out.gaps(("empty",)) == ()
