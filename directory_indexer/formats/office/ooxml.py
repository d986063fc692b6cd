"""Office Open XML packages: their program, by the content type of the main part, and Visio drawings."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from itertools import chain
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole
from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.office.docx import read_docx
from directory_indexer.formats.office.embedded import embedded_files
from directory_indexer.formats.office.flat_xml import read_office_2003, zip_flat_package
from directory_indexer.formats.office.ooxml_parts import read_properties
from directory_indexer.formats.office.pptx import read_pptx
from directory_indexer.formats.office.signatures import is_office_2003, office_xml_kind
from directory_indexer.formats.office.xlsx import read_xlsx
from directory_indexer.formats.packages import Package
from directory_indexer.formats.xml_events import read_xml


def read_vsdx(package: Package, main: str) -> Document:
    """Read a drawing by its main part, which refers to the list of its pages.

    Raises:
        SkipFileError: it is more than is read.
        ExtractionError: the list of pages is damaged, and no page can be found.
    """
    parts = {relation.role: relation.part for relation in package.relations(main).values()}
    pages_part = parts.get("pages", "visio/pages/pages.xml")
    relations = package.relations(pages_part)
    order = _Order()
    problem = read_xml(package.pieces(pages_part), order)
    if problem and not order.pages:
        raise problem
    draft = Draft()
    for number, page in enumerate(order.pages, 1):
        draft.page(number)
        draft.heading(1, page.name)
        if page_relation := relations.get(page.relation):
            for text in _texts(package, page_relation.part):
                draft.paragraph(text)
    title, metadata = read_properties(package)
    return draft.document("vsdx", title, metadata._replace(n_pages=len(order.pages)))


def _texts(package: Package, part: str) -> list[str]:
    shapes = _Shapes()
    read_xml(package.pieces(part), shapes)
    return shapes.texts


class _Page(NamedTuple):
    name: str
    relation: str


class _Order:
    def __init__(self) -> None:
        self.pages: list[_Page] = []
        self._name = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "Page":
            self._name = attributes.get("Name", "")
        elif name == "Rel":
            self.pages.append(_Page(self._name, attributes.get("id", "")))

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Shapes:
    """The text of each shape; text inherited from its master is an example."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._pieces: list[str] = []
        self._is_text = False

    def start(self, name: str, _: dict[str, str]) -> None:
        if name == _TEXT:
            self._is_text = True

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name == _TEXT:
            self._is_text = False
            self.texts.append("".join(self._pieces))
            self._pieces.clear()


_TEXT: Final = "Text"


def open_ooxml(file: BinaryIO, _: str, budget: Budget) -> Contents:
    """Read a document, a presentation, a workbook or a drawing, by its content and not by its name.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    content = read_whole(file)
    if is_office_2003(content):
        return Contents(read_office_2003(content))
    package = Package(zip_flat_package(content, budget) if office_xml_kind(content) else content, budget)
    main = _main_part(package)
    document = _reader_of(package, main)(package, main)
    return Contents(document, chain(_damaged_members(package, main), embedded_files(package, budget)))


def _damaged_members(package: Package, main: str) -> list[Member]:
    """Return the main part as a member that cannot be read, if the document was damaged, so that a run reports it."""
    if package.damage is None:
        return []
    problem = ExtractionError(f"{package.damage.message}; the text that could be read is indexed")
    return [Member(posixpath.basename(main), problem=problem)]


def _main_part(package: Package) -> str:
    main_parts = (relation.part for relation in package.relations().values() if relation.role == "officeDocument")
    for part in (*main_parts, *_USUAL_MAIN_PARTS):
        if part in package:
            return part
    raise ExtractionError("damaged Office document: its main part is missing")


def _reader_of(package: Package, main: str) -> Callable[[Package, str], Document]:
    match = _PROGRAM.search(package.content_type(main)) or _PROGRAM.search(main)
    if not match:
        raise ExtractionError("damaged Office document: its content type is missing")
    return _READERS[match[0]]


_USUAL_MAIN_PARTS: Final = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml", "visio/document.xml")
_READERS: Final[dict[str, Callable[[Package, str], Document]]] = {
    "word": read_docx,
    "powerpoint": read_pptx,
    "presentation": read_pptx,
    "ppt": read_pptx,
    "excel": read_xlsx,
    "spreadsheet": read_xlsx,
    "xl/": read_xlsx,
    "visio": read_vsdx,
}
_PROGRAM: Final = re.compile("|".join(_READERS))
