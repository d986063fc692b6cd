"""OpenDocument files: texts, spreadsheets, presentations and drawings, as packages or as flat XML files.

Charts and formulas are documents of their own in the package. Headers, footers and other text on every page are read
once. OpenOffice 1 has other names for some elements, and no element that tells the type of the body.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import BinaryIO, Final, Protocol

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.blocks import Block, write_block
from directory_indexer.formats.containers import Budget, Contents, read_whole
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.metadata import (
    distinct_values,
    iso_time,
    primary_language,
    single_line_value,
    split_list,
)
from directory_indexer.formats.office.embedded import embedded_files
from directory_indexer.formats.office.odf_bodies import OdfPages, OdfSheets
from directory_indexer.formats.office.odf_styles import Styles, number_in
from directory_indexer.formats.office.odf_text import SHAPES, SKIPPED, OdfText
from directory_indexer.formats.packages import Package
from directory_indexer.formats.xml_events import XmlHandler, XmlValues, read_xml


class _Body(XmlHandler, Protocol):
    """A reader of the body of a document, whose first element determines its type."""

    n_pages: int

    def finish(self) -> None: ...


class _Text:
    """The body of a text document."""

    n_pages = 0

    def __init__(self, draft: Draft, styles: Styles, object_texts: Callable[[Iterable[str]], Iterable[str]]) -> None:
        self._draft = draft
        self._object_texts = object_texts
        self._text = OdfText(styles, partial(write_block, draft=draft))
        self.start, self.text, self.end = self._text.start, self._text.text, self._text.end

    def finish(self) -> None:
        self._text.flush()
        for text in self._object_texts(self._text.objects):
            self._draft.paragraph(text)


_ZIP: Final = b"PK\3\4"
_PIECE_BYTES: Final = 1 << 16
_KINDS: Final = {"text": "odt", "spreadsheet": "ods", "presentation": "odp", "drawing": "odg"}
_OLD_NAMES: Final = {
    **dict.fromkeys(("unordered-list", "ordered-list"), "list"),
    **dict.fromkeys(("footnote", "endnote"), "note"),
    "text-box": "frame",
}
_BODIES: Final[dict[str, Callable[[Draft, Styles, Callable[[Iterable[str]], Iterable[str]]], _Body]]] = {
    "odt": _Text,
    "ods": OdfSheets,
}

_FIELD_MARK: Final = "\ufffc"
_MIN_WORDS: Final = 3
_HEADERS_AND_FOOTERS: Final = frozenset(
    {"header", "footer", "header-left", "footer-left", "header-first", "footer-first"}
)
_FIELDS: Final = frozenset({"page-number", "page-count", "sheet-name", "file-name", "title", "date", "time"})

_LINES: Final = frozenset({"p", "h", "annotation"})
_NUMBERS: Final = frozenset({"float", "percentage", "currency", "date", "time"})
_SKIPPED: Final = frozenset({"automatic-styles", "tracked-changes", "binary-data"})


def open_odf(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read an OpenDocument file, by its content and not by its name, with the files embedded in it.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    content = read_whole(file)
    if not content.startswith(_ZIP):
        return Contents(_read_flat(content, kind))
    package = Package(content, budget)
    _check_readable(package)
    return Contents(_read_package(package, kind), embedded_files(package, budget))


class OdfProperties(XmlValues):
    """Collects the properties of a document, and the number of pages when it was saved."""

    def __init__(self) -> None:
        super().__init__()
        self._n_pages = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        super().start(name, attributes)
        if name == "document-statistic":
            self._n_pages = number_in(attributes.get("page-count", ""), 0)

    @property
    def title(self) -> str:
        """The title."""
        return self.first("title")

    @property
    def metadata(self) -> Metadata:
        """The metadata beside the title."""
        return Metadata(
            authors=split_list(self.first("initial-creator") or self.first("creator")),
            created=iso_time(self.first("creation-date")),
            modified=iso_time(self.first("date")),
            language=primary_language(self.first("language")),
            subject=single_line_value(self.first("subject")),
            tags=distinct_values(tag for keyword in self.all("keyword") for tag in split_list(keyword)),
            n_pages=self._n_pages or None,
        )


class MasterPages:
    """Text on master pages: headers, footers and text boxes, if they are displayed.

    Page numbers, names of sheets and other fields are left out, and with them lines that have little else: every
    spreadsheet has "Page 1" in its footer.
    """

    def __init__(self, styles: Styles) -> None:
        self.texts: dict[str, None] = {}
        self._styles = styles
        self._draft = Draft()
        self._text: OdfText | None = None
        self._depth = 0
        self._is_in_field = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if self._text and name in _FIELDS:
            self._depth += 1
            self._is_in_field = True
            self._text.text(_FIELD_MARK)
        elif self._text:
            self._depth += 1
            self._text.start(name, attributes)
        elif name in _HEADERS_AND_FOOTERS or name in SHAPES:
            self._draft = Draft()
            # Placeholders have example text.
            is_displayed = (
                attributes.get("class", "footer") in _HEADERS_AND_FOOTERS and attributes.get("display") != "false"
            )
            self._text = OdfText(self._styles, partial(write_block, draft=self._draft) if is_displayed else _ignore)
            self._text.start(name, attributes)

    def text(self, text: str) -> None:
        """Handle a run of text."""
        if self._text and not self._is_in_field:
            self._text.text(text)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if not self._text:
            return
        if name in _FIELDS:
            self._is_in_field = False
        else:
            self._text.end(name)
        if self._depth:
            self._depth -= 1
            return
        self._text.flush()
        self._text = None
        lines = map(_without_fields, self._draft.document("odt").text.split("\n"))
        self.texts["\n".join(lines).strip("\n")] = None


def object_text(package: Package, part: str) -> str:
    """Return the labels of a chart or the source of a formula, one to a line, each once."""
    labels = _Labels()
    read_xml(package.pieces(part), labels, skipped=_SKIPPED)
    return "\n".join(labels.lines)


def _read_flat(content: bytes, kind: str) -> Document:
    areas = _Areas(lambda _: (), kind)
    return _document(areas, read_xml(_pieces(content), areas, skipped=SKIPPED))


def _read_package(package: Package, kind: str) -> Document:
    areas = _Areas(partial(_object_texts, package), kind)
    read_xml(package.pieces("styles.xml"), areas, skipped=SKIPPED)
    problem = read_xml(package.pieces("content.xml"), areas, skipped=SKIPPED)
    read_xml(package.pieces("meta.xml"), areas)
    return _document(areas, problem)


def _document(areas: _Areas, problem: ExtractionError | None) -> Document:
    if problem and areas.draft.is_empty:
        raise problem
    return areas.document()


def _pieces(content: bytes) -> Iterator[bytes]:
    return (content[start : start + _PIECE_BYTES] for start in range(0, len(content), _PIECE_BYTES))


def _check_readable(package: Package) -> None:
    manifest = _Manifest()
    read_xml(package.pieces("META-INF/manifest.xml"), manifest)
    if manifest.is_encrypted:
        raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
    if "content.xml" not in package:
        raise ExtractionError("damaged OpenDocument file: its content is missing")


def _object_texts(package: Package, folders: Iterable[str]) -> Iterator[str]:
    """Yield the text of charts and formulas, each of which is a document of its own in the package."""
    for folder in dict.fromkeys(folders):
        part = posixpath.normpath(posixpath.join(folder.removeprefix("./"), "content.xml"))
        if text := object_text(package, part):
            yield text


class _Manifest:
    def __init__(self) -> None:
        self.is_encrypted = False

    def start(self, name: str, _: dict[str, str]) -> None:
        self.is_encrypted = self.is_encrypted or name == "encryption-data"

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Areas:
    """Dispatches the areas of a document, spread over parts of a package or in one flat file, to their readers."""

    def __init__(self, object_texts: Callable[[Iterable[str]], Iterable[str]], kind: str) -> None:
        self.draft = Draft()
        self._kind_by_name = kind
        self._object_texts = object_texts
        self._styles = Styles()
        self._properties = OdfProperties()
        self._master_pages = MasterPages(self._styles)
        self._kind = ""
        self._body: _Body | None = None
        self._areas: dict[str, Callable[[], XmlHandler]] = {
            "meta": lambda: self._properties,
            "styles": lambda: self._styles,
            "automatic-styles": lambda: self._styles,
            "master-styles": lambda: self._master_pages,
            **dict.fromkeys(_KINDS, self._open_body),
        }
        self._area: XmlHandler | None = None
        self._depth = 0
        self._is_body = self._has_old_names = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._area is None and self._is_body and name not in self._areas:
            self._has_old_names = True
            self._kind = self._kind or self._kind_by_name
            self._area = self._open_body()
        if self._area:
            self._depth += 1
            name, attributes = _with_current_name(name, attributes) if self._has_old_names else (name, attributes)
            self._area.start(name, attributes)
        elif name == "body":
            self._is_body = True
        elif name in self._areas:
            self._kind = self._kind or _KINDS.get(name, "")
            self._area = self._areas[name]()

    def text(self, text: str) -> None:
        if self._area:
            self._area.text(text)

    def end(self, name: str) -> None:
        if self._depth:
            self._depth -= 1
            if self._area:
                self._area.end(_OLD_NAMES.get(name, name) if self._has_old_names else name)
        else:
            self._area = None
            self._is_body = self._is_body and name != "body"

    def document(self) -> Document:
        """Finish and return the document.

        Raises:
            ExtractionError: it has no known body.
        """
        if not self._body:
            raise ExtractionError("damaged OpenDocument file: it has no text, sheets or pages")
        self._body.finish()
        for text in self._master_pages.texts:
            self.draft.paragraph(text)
        metadata = self._properties.metadata
        metadata = metadata._replace(n_pages=self._body.n_pages or metadata.n_pages)
        return self.draft.document(self._kind, self._properties.title, metadata)

    def _open_body(self) -> _Body:
        if not self._body:
            make = _BODIES.get(self._kind, OdfPages)
            self._body = make(self.draft, self._styles, self._object_texts)
        return self._body


def _with_current_name(name: str, attributes: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return an element of OpenOffice 1 under its OpenDocument name."""
    if name == "h":
        attributes = {**attributes, "outline-level": attributes.get("level", "")}
    elif name == "endnote":
        attributes = {**attributes, "note-class": "endnote"}
    return _OLD_NAMES.get(name, name), attributes


def _ignore(_: Block) -> None: ...


def _without_fields(line: str) -> str:
    if _FIELD_MARK not in line:
        return line
    words = line.replace(_FIELD_MARK, " ").split()
    return " ".join(words) if sum(any(map(str.isalnum, word)) for word in words) >= _MIN_WORDS else ""


class _Labels:
    """Paragraphs, without those that are only a number, since the numbers of a chart are in its sheet."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self._pieces: list[str] = []
        self._is_text = False
        self._is_number = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "table-cell":
            self._is_number = attributes.get("value-type") in _NUMBERS
        elif name in _LINES:
            self._is_text = not self._is_number

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name == "table-cell":
            self._is_number = False
        elif name in _LINES:
            self._is_text = False
            if line := " ".join("".join(self._pieces).split()):
                self.lines[line] = None
            self._pieces.clear()
