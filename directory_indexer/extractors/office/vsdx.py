"""Visio drawings: each page with its name, and the text of its shapes."""

from __future__ import annotations

from typing import Final, NamedTuple

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.ooxml_properties import read_properties
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml


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
