"""OpenDocument: texts, spreadsheets, presentations and drawings, as packages or as flat XML files.

OpenOffice 1 has other names for some elements, and no element that tells the type of the body.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import BinaryIO, Final, Protocol

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.members import Contents, read_whole
from directory_indexer.extractors.office.embedded import embedded_in
from directory_indexer.extractors.office.odf_objects import object_text
from directory_indexer.extractors.office.odf_pages import OdfPages
from directory_indexer.extractors.office.odf_properties import OdfProperties
from directory_indexer.extractors.office.odf_running import RunningTexts
from directory_indexer.extractors.office.odf_sheets import OdfSheets
from directory_indexer.extractors.office.odf_styles import Styles
from directory_indexer.extractors.office.odf_text import SKIPPED, OdfText
from directory_indexer.extractors.office.stories import write_block
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import XmlHandler, read_xml
from directory_indexer.files import SkipReason


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
    _require_readable(package)
    return Contents(_read_package(package, kind), embedded_in(package, budget))


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


def _require_readable(package: Package) -> None:
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


class _Body(XmlHandler, Protocol):
    """A reader of the body of a document, whose first element determines its type."""

    n_pages: int

    def finish(self) -> None: ...


class _Areas:
    """Dispatches the areas of a document, spread over parts of a package or in one flat file, to their readers."""

    def __init__(self, object_texts: Callable[[Iterable[str]], Iterable[str]], kind: str) -> None:
        self.draft = Draft()
        self._kind_by_name = kind
        self._object_texts = object_texts
        self._styles = Styles()
        self._properties = OdfProperties()
        self._running = RunningTexts(self._styles)
        self._kind = ""
        self._body: _Body | None = None
        self._areas: dict[str, Callable[[], XmlHandler]] = {
            "meta": lambda: self._properties,
            "styles": lambda: self._styles,
            "automatic-styles": lambda: self._styles,
            "master-styles": lambda: self._running,
            **dict.fromkeys(_KINDS, self._open_body),
        }
        self._area: XmlHandler | None = None
        self._depth = 0
        self._is_body = self._is_old = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._area is None and self._is_body and name not in self._areas:
            self._is_old = True
            self._kind = self._kind or self._kind_by_name
            self._area = self._open_body()
        if self._area:
            self._depth += 1
            name, attributes = _renamed(name, attributes) if self._is_old else (name, attributes)
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
                self._area.end(_OLD_NAMES.get(name, name) if self._is_old else name)
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
        for text in self._running.texts:
            self.draft.paragraph(text)
        metadata = self._properties.metadata
        metadata = metadata._replace(n_pages=self._body.n_pages or metadata.n_pages)
        return self.draft.document(self._kind, self._properties.title, metadata)

    def _open_body(self) -> _Body:
        if not self._body:
            make = _BODIES.get(self._kind, OdfPages)
            self._body = make(self.draft, self._styles, self._object_texts)
        return self._body


def _renamed(name: str, attributes: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return an element of OpenOffice 1 under its OpenDocument name."""
    if name == "h":
        attributes = {**attributes, "outline-level": attributes.get("level", "")}
    elif name == "endnote":
        attributes = {**attributes, "note-class": "endnote"}
    return _OLD_NAMES.get(name, name), attributes


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
