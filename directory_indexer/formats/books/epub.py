"""EPUB books: the package document, and the chapters in reading order with the titles of the table of contents."""

from __future__ import annotations

import posixpath
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import unquote

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.blocks import Block, Paragraph, write_block
from directory_indexer.formats.containers import Budget, Contents, read_whole
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.document import Metadata
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.html_blocks import page_blocks
from directory_indexer.formats.metadata import (
    distinct_values,
    iso_time,
    primary_language,
    single_line_value,
    split_list,
)
from directory_indexer.formats.packages import Package
from directory_indexer.formats.xml_events import XmlValues, read_xml

_ZIP: Final = b"PK\3\4"
_FIRST_NAME_AT: Final = 30
_MEDIA_TYPE: Final = b"mimetypeapplication/epub+zip"
_N_BLOCKS_WITH_TITLE: Final = 3
"""The number of blocks at the start of a chapter that may hold its title."""

_FONT_METHODS: Final = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})

_INDEX: Final = "application/x-dtbncx+xml"
_PAGE_TYPES: Final = ("html", "xml", "oeb1-document")
_NON_PAGE_TYPES: Final = frozenset(
    {_INDEX, "application/smil+xml", "application/pls+xml", "application/oebps-page-map+xml"}
)
_MAX_FALLBACKS: Final = 4
_DATED: Final = frozenset({"date", "meta"})
_LEVELS: Final = frozenset({"ol", "navPoint"})
_LABELS: Final = frozenset({"a", "navLabel"})
_MAX_DEPTH: Final = 9


def is_epub(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is an EPUB book, by its first entry or by its name."""
    return head.startswith(_ZIP) and (has_extension or head.startswith(_MEDIA_TYPE, _FIRST_NAME_AT))


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


class Chapter(NamedTuple):
    """An entry of the table of contents; depth 1 is the outermost."""

    title: str
    depth: int


class PackageDocument(XmlValues):
    """Collects the contents of the package document of a book."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.navigation = ""
        """The part with the table of contents, as a page; `index` is one in the form of older books."""

        self.index = ""
        self._folder = posixpath.dirname(name)
        self._items: dict[str, _Item] = {}
        self._order: list[str] = []
        self._event = ""

    @property
    def pages(self) -> list[str]:
        """The parts in reading order, each once, including those that only links reach.

        Without a declared order, that of the list of parts is taken.
        """
        listed = (self._items[item_id] for item_id in dict.fromkeys(self._order) if item_id in self._items)
        pages = dict.fromkeys(item.part for item in map(self._readable, listed) if item.is_page)
        others = (item.part for item in self._items.values() if item.is_page and item.part != self.navigation)
        return list(pages or dict.fromkeys(others))

    def _readable(self, item: _Item) -> _Item:
        """Return the fallback of a part that not all programs can show."""
        for _ in range(_MAX_FALLBACKS):
            if item.is_page or item.fallback not in self._items:
                break
            item = self._items[item.fallback]
        return item

    @property
    def title(self) -> str:
        """The title of the book."""
        return self.first("title")

    @property
    def metadata(self) -> Metadata:
        """The metadata beside the title."""
        return Metadata(
            authors=distinct_values(self.all("creator")),
            created=iso_time(self.first("creation") or self.first("publication") or self.first("date")),
            modified=iso_time(self.first("dcterms:modified") or self.first("modification")),
            language=primary_language(self.first("language")),
            subject=single_line_value(self.first("description")),
            tags=distinct_values(tag for subject in self.all("subject") for tag in split_list(subject)),
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        super().start(name, attributes)
        self._event = ""
        if name == "item":
            self._add_item(attributes)
        elif name == "itemref":
            self._order.append(attributes.get("idref", ""))
        elif name in _DATED:
            self._event = attributes.get("event", "") or attributes.get("property", "")

    def end(self, name: str) -> None:
        """Handle the end of an element; dates are distinguished by their event."""
        super().end(self._event or name)
        self._event = ""

    def _add_item(self, attributes: dict[str, str]) -> None:
        part = part_name(self._folder, attributes.get("href", ""))
        item = _Item(part, attributes.get("media-type", ""), attributes.get("fallback", ""))
        self._items[attributes.get("id", "")] = item
        if "nav" in attributes.get("properties", "").split():
            self.navigation = item.part
        elif item.media_type == _INDEX:
            self.index = item.part


def part_name(folder: str, reference: str) -> str:
    """Return the part that a reference in a folder points to, without its fragment."""
    return posixpath.normpath(posixpath.join(folder, unquote(reference.partition("#")[0])))


def table_of_contents(package: Package, book: PackageDocument) -> dict[str, Chapter]:
    """Return the first entry for each page, by the name of its part in lower case."""
    part = book.navigation or book.index
    entries = _Entries(posixpath.dirname(part))
    read_xml(package.pieces(part), entries)
    return entries.chapters


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
        raise ExtractionError("damaged EPUB book: it lists no chapters")
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
            paragraph.level
            for paragraph in blocks[:_N_BLOCKS_WITH_TITLE]
            if isinstance(paragraph, Paragraph) and paragraph.level
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


class _Item(NamedTuple):
    part: str
    media_type: str
    fallback: str

    @property
    def is_page(self) -> bool:
        """Whether it is text: HTML, a drawing as SVG, or other XML, as in older books."""
        is_text = any(word in self.media_type for word in _PAGE_TYPES) and self.media_type not in _NON_PAGE_TYPES
        return is_text or self.part.lower().endswith((".html", ".xhtml", ".htm"))


class _Entries:
    """The entries of a table of contents in either form: lists of links, or navigation points with labels."""

    def __init__(self, folder: str) -> None:
        self.chapters: dict[str, Chapter] = {}
        self._folder = folder
        self._depth = 0
        self._is_label = False
        self._is_other_list = False
        """Whether the list is not the table of contents, but one of pages or figures."""

        self._reference = ""
        self._label: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _LEVELS:
            self._depth += 1
        elif name == "nav":
            self._is_other_list = attributes.get("type", "toc") != "toc"
        elif name in _LABELS:
            self._is_label = True
            self._label.clear()
            self._reference = attributes.get("href", "")
        elif name == "content":
            self._add(attributes.get("src", ""))

    def text(self, text: str) -> None:
        if self._is_label:
            self._label.append(text)

    def end(self, name: str) -> None:
        if name in _LEVELS:
            self._depth -= 1
        elif name in _LABELS:
            self._is_label = False
            if name == "a":
                self._add(self._reference)

    def _add(self, reference: str) -> None:
        title = " ".join("".join(self._label).split())
        if reference and title and not self._is_other_list:
            part = part_name(self._folder, reference).lower()
            self.chapters.setdefault(part, Chapter(title, min(max(self._depth, 1), _MAX_DEPTH)))
