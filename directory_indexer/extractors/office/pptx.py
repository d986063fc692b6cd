"""PowerPoint presentations: each slide a page with its title, its text, its tables, its notes and its comments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.comments import read_authors, read_comments
from directory_indexer.extractors.office.drawings import drawing_texts
from directory_indexer.extractors.office.ooxml_properties import read_properties
from directory_indexer.extractors.office.stories import Block, Paragraph, Story, write_block
from directory_indexer.extractors.packages import Package, Relation
from directory_indexer.extractors.tables import MAX_COLUMN_SPAN, MAX_ROW_SPAN, span
from directory_indexer.extractors.xml_events import read_xml


def read_pptx(package: Package, main: str) -> Document:
    """Read a presentation by its main part, which tells the order of its slides; hidden ones are there, too.

    Raises:
        SkipFileError: it is more than is read.
        ExtractionError: the main part is damaged, and no slide can be found.
    """
    relations = package.relations(main)
    order = _Order()
    problem = read_xml(package.pieces(main), order)
    slides = [relations[one].part for one in order.ids if one in relations]
    if problem and not slides:
        raise problem
    draft = Draft()
    authors = read_authors(package, relations.values())
    for number, part in enumerate(slides, 1):
        draft.page(number)
        _write_slide(package, part, authors, draft)
    title, metadata = read_properties(package)
    return draft.document("pptx", title, metadata._replace(n_pages=len(slides)))


def _write_slide(package: Package, part: str, authors: dict[str, str], draft: Draft) -> None:
    relations = tuple(dict.fromkeys(package.relations(part).values()))
    shapes = [shape for shape in _shapes(package, part) if shape.placeholder not in _FURNITURE]
    title = next((shape for shape in shapes if shape.placeholder in _TITLES and shape.words()), None)
    if title:
        draft.heading(1, " ".join(title.words()))
        shapes.remove(title)
    for block in (block for shape in shapes for block in shape.blocks):
        write_block(block, draft)
    for text in drawing_texts(package, relations):
        draft.paragraph(text)
    if notes := _notes(package, relations):
        draft.paragraph("\n".join(("Notes:", *notes)))
    for comment in read_comments(package, relations, authors):
        draft.paragraph(f"> {comment.text}")


def _notes(package: Package, relations: Iterable[Relation]) -> list[str]:
    pages = (_shapes(package, one.part) for one in relations if one.role == "notesSlide")
    return [word for shapes in pages for shape in shapes if shape.placeholder == "body" for word in shape.words()]


def _shapes(package: Package, part: str) -> list[_Shape]:
    slide = _Slide()
    read_xml(package.pieces(part), slide, skipped=_SKIPPED)
    return slide.shapes


class _Order:
    def __init__(self) -> None:
        self.ids: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sldId":
            self.ids.append(attributes.get("id", ""))

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Shape:
    """What stands in one place of a slide; `placeholder` is what its layout keeps the place for, "" for none."""

    def __init__(self) -> None:
        self.placeholder = ""
        self.blocks: list[Block] = []

    def words(self) -> list[str]:
        return [block.text.strip() for block in self.blocks if isinstance(block, Paragraph) and block.text.strip()]


class _Slide:
    """Turns the elements of a slide into shapes."""

    def __init__(self) -> None:
        self.shapes = [_Shape()]
        self._story = story = Story(self._add)
        self._depth = ""
        self._is_bulleted = True
        self._is_text = False
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "ph": self._set_placeholder,
            "p": self._begin_paragraph,
            "pPr": self._set_depth,
            "buNone": lambda _: self._set_bulleted(is_bulleted=False),
            "br": lambda _: story.write("\n"),
            "tab": lambda _: story.write("\t"),
            "tbl": lambda _: story.tables.begin(),
            "tr": lambda _: story.tables.begin_row(),
            "tc": self._begin_cell,
        }
        self._ends: dict[str, Callable[[], None]] = {
            "p": self._end_paragraph,
            "tc": story.tables.end_cell,
            "tbl": self._end_table,
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "t":
            self._is_text = True
        elif name in _SHAPES:
            self.shapes.append(_Shape())
        elif begin := self._starts.get(name):
            begin(attributes)

    def text(self, text: str) -> None:
        if self._is_text:
            self._story.write(text)

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif end := self._ends.get(name):
            end()

    def _add(self, block: Block) -> None:
        self.shapes[-1].blocks.append(block)

    def _set_placeholder(self, attributes: dict[str, str]) -> None:
        self.shapes[-1].placeholder = attributes.get("type", "obj")

    def _begin_paragraph(self, _: dict[str, str]) -> None:
        self._story.begin_paragraph()
        self._depth, self._is_bulleted = "", True

    def _set_depth(self, attributes: dict[str, str]) -> None:
        self._depth = attributes.get("lvl", "")

    def _set_bulleted(self, *, is_bulleted: bool) -> None:
        self._is_bulleted = is_bulleted

    def _end_paragraph(self) -> None:
        is_item = self._is_bulleted and self.shapes[-1].placeholder in _BULLETED and not self._story.tables.innermost
        self._story.end_paragraph(mark="  " * _DEPTHS.get(self._depth, 0) + "-" if is_item else "")

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        columns, rows = attributes.get("gridSpan", ""), attributes.get("rowSpan", "")
        self._story.tables.begin_cell(span(columns, MAX_COLUMN_SPAN), span(rows, MAX_ROW_SPAN))
        if cell := self._story.tables.cell:
            cell.is_continued = not _TRUE.isdisjoint({attributes.get("hMerge"), attributes.get("vMerge")})

    def _end_table(self) -> None:
        if table := self._story.tables.innermost:
            table.rows = [[cell for cell in row if not cell.is_continued] for row in table.rows]
        self._story.tables.end()


_TITLES: Final = frozenset({"title", "ctrTitle"})
_FURNITURE: Final = frozenset({"sldNum", "dt"})
_BULLETED: Final = frozenset({"body", "obj"})
_SHAPES: Final = frozenset({"sp", "graphicFrame", "pic", "cxnSp"})
_DEPTHS: Final = {str(depth): depth for depth in range(1, 9)}
_TRUE: Final = frozenset({"1", "true"})
_SKIPPED: Final = frozenset({"Fallback", "tabLst"})
