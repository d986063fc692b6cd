"""What is missing in an answer is said in it."""

from __future__ import annotations

import io
import os
import zipfile
from typing import TYPE_CHECKING

import pymupdf
import pytest

from directory_indexer.paths import file_path
from directory_indexer.searching.answers import SearchMode

if TYPE_CHECKING:
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

ALWAYS = [
    ("broken.pdf", b"%PDF-1.7 and no more", FAILED),
    ("cut.pdf", blank_pdf()[:300], FAILED),
    ("broken.docx", broken_docx(), FAILED),
    ("broken.xlsx", b"PK\x03\x04 and no more", FAILED),
    ("broken.epub", b"PK\x03\x04 and no more", FAILED),
    ("broken.pptx", b"PK\x03\x04 and no more", FAILED),
    ("broken.zip", b"PK\x03\x04 and no more", FAILED),
    ("broken.ipynb", b"{ no notebook", FAILED),
    ("large.txt", b"words " * 20_000, TOO_LARGE),
    ("large.md", b"# words\n" * 20_000, TOO_LARGE),
    ("large.py", b"words = 1\n" * 20_000, TOO_LARGE),
    ("locked.pdf", encrypted_pdf(), ENCRYPTED),
    ("blank.pdf", blank_pdf(), NO_TEXT),
]
WHERE_NOTHING_IS_FOUND = [
    ("program.bin", bytes(range(256)) * 40, "1 file of no known format"),
    ("empty.md", b"", "1 empty file"),
    (
        "id_rsa",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----\n",
        "1 file left out as a secret",
    ),
]


def notes(index: Index, query: str, **options: object) -> str:
    return " ".join(index.searcher.search(index.request(query, **options)).degraded)


@pytest.mark.parametrize(("name", "content", "said"), ALWAYS, ids=[name for name, *_ in ALWAYS])
def test_a_file_that_cannot_be_found_is_counted_in_every_answer(
    index: Index, name: str, content: bytes, said: str
) -> None:
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.write_bytes(f"below/{name}", content)
    index.run()
    assert said in notes(index, "boats of the harbour")
    assert "dirindex status -v names them" in notes(index, "boats of the harbour")


@pytest.mark.parametrize(("name", "content", "said"), WHERE_NOTHING_IS_FOUND)
def test_what_is_usual_is_counted_where_nothing_is_found(index: Index, name: str, content: bytes, said: str) -> None:
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.write_bytes(name, content)
    index.run()
    assert said in notes(index, "xylophone", mode=SearchMode.KEYWORD)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_and_pipes_are_counted_where_nothing_is_found(index: Index) -> None:
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    os.symlink(index.root / "nowhere", index.root / "link.md")
    os.symlink(index.root / "harbour.md", index.root / "other.md")
    os.mkfifo(index.root / "pipe.md")
    index.run()
    said = notes(index, "xylophone", mode=SearchMode.KEYWORD)
    for one in ("2 links that are not followed", "1 file that is not regular"):
        assert one in said


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


def test_a_directory_that_no_run_has_finished_is_named(index: Index) -> None:
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.run()
    with index.docstore.transaction() as transaction:
        transaction.directories.add(file_path(str(index.root.parent / "more")))
    assert f"the first run over {index.root.parent / 'more'} has not ended" in notes(index, "boats")


def test_nothing_is_said_where_nothing_is_missing(index: Index) -> None:
    index.write("harbour.md", "# Harbour\n\nThe boats of the harbour.\n")
    index.run()
    assert notes(index, "boats") == ""
    with index.docstore.snapshot() as snapshot:
        assert snapshot.left_out.gaps(("empty",)) == ()
