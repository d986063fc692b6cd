"""EPUB books: chapters in reading order, with the titles of the table of contents."""

from __future__ import annotations

from typing import BinaryIO, Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.books.epub_contents import Chapter, PackageDocument, table_of_contents
from directory_indexer.extractors.books.pages import page_blocks
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.decoding import decode
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.members import Contents, read_whole
from directory_indexer.extractors.office.stories import Block, Paragraph, write_block
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml
from directory_indexer.files import SkipReason


def is_epub(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is an EPUB book, by its first entry or by its name."""
    return head.startswith(_ZIP) and (is_named or head.startswith(_MEDIA_TYPE, _FIRST_NAME))


def open_epub(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a book; a damaged page is left out.

    Raises:
        SkipFileError: it is protected, or is more than is read.
        ExtractionError: it is damaged, and has no page that can be read.
    """
    package = Package(read_whole(file), budget)
    _require_readable(package)
    book = _package_document(package)
    chapters = table_of_contents(package, book)
    draft, n_levels = Draft(), 0
    for part in book.pages:
        n_levels = _write_page(_blocks(package, part), chapters.get(part.lower()), n_levels, draft)
    if draft.is_empty and not any(part in package for part in book.pages):
        raise ExtractionError("damaged EPUB book: it has no chapters")
    return Contents(draft.document(kind, book.title, book.metadata))


def _require_readable(package: Package) -> None:
    protection = _Protection()
    read_xml(package.pieces("META-INF/encryption.xml"), protection)
    if protection.is_encrypted:
        raise SkipFileError(SkipReason.ENCRYPTED, "is protected against copying")


def _package_document(package: Package) -> PackageDocument:
    container = _Container()
    read_xml(package.pieces("META-INF/container.xml"), container)
    candidates = [*container.parts, *(name for name in package.names() if name.lower().endswith(".opf"))]
    name = next((part for part in candidates if part in package), None)
    if name is None:
        raise ExtractionError("damaged EPUB book: nothing tells which chapters it has")
    book = PackageDocument(name)
    problem = read_xml(package.pieces(name), book)
    if problem and not book.pages:
        raise problem
    return book


def _blocks(package: Package, part: str) -> list[Block]:
    try:
        return page_blocks(decode(b"".join(package.pieces(part))))
    except SkipFileError as error:
        if error.reason != SkipReason.BINARY:
            raise
    except ExtractionError:
        pass
    return []


def _write_page(blocks: list[Block], chapter: Chapter | None, n_levels: int, draft: Draft) -> int:
    """Write a page; return the level offset of its headings, for pages that continue the chapter."""
    if chapter:
        headings = [
            paragraph.level for paragraph in blocks[:_NEAR] if isinstance(paragraph, Paragraph) and paragraph.level
        ]
        if not headings:
            draft.heading(chapter.depth, chapter.title)
        n_levels = chapter.depth - (headings[0] if headings else 0)
    for block in blocks:
        if isinstance(block, Paragraph) and block.level:
            draft.heading(max(block.level + n_levels, 1), block.text)
        else:
            write_block(block, draft)
    return n_levels


class _Container:
    def __init__(self) -> None:
        self.parts: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "rootfile":
            self.parts.append(attributes.get("full-path", ""))

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Protection:
    """Whether anything but fonts is encrypted; fonts are only obfuscated against use outside of the book."""

    def __init__(self) -> None:
        self.is_encrypted = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        # The methods by which keys are encrypted are listed, too, but do not matter.
        if name == "EncryptionMethod" and attributes.get("Algorithm", "") not in _FONT_METHODS:
            self.is_encrypted = True

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


_ZIP: Final = b"PK\3\4"
_FIRST_NAME: Final = 30
_MEDIA_TYPE: Final = b"mimetypeapplication/epub+zip"
_NEAR: Final = 3
"""The title of a chapter is searched in this many blocks at its beginning."""

_FONT_METHODS: Final = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
