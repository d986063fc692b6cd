"""PowerPoint presentations: each slide is a page with its title, text, tables, notes and comments.

Shapes are read by their positions on the slide, which is seldom the order in which they were drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from operator import itemgetter
from typing import Final, Literal, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.formats.blocks import Block, BlockBuilder, Paragraph, Table, write_block
from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, MAX_ROW_SPAN, Draft, span
from directory_indexer.formats.office.ooxml_parts import (
    Formulas,
    drawing_texts,
    read_authors,
    read_comments,
    read_properties,
)
from directory_indexer.formats.packages import Package, Relation
from directory_indexer.formats.xml_events import read_xml

with lazily:
    from directory_indexer.formats.html_tokens import description


def read_pptx(package: Package, main: str) -> Document:
    """Read a presentation by its main part, which has the order of its slides; hidden ones are included.

    Raises:
        SkipFileError: it is more than is read.
        ExtractionError: the main part is damaged, and no slide can be found.
    """
    relations = package.relations(main)
    order = _SlideOrder()
    problem = read_xml(package.pieces(main), order)
    slides = [relations[slide_id].part for slide_id in order.ids if slide_id in relations]
    if problem and not slides:
        raise problem
    draft = Draft()
    authors = read_authors(package, relations.values())
    dates: set[str] = set()
    for number, part in enumerate(slides, 1):
        draft.page(number)
        _write_slide(package, part, authors, dates, draft)
    title, metadata = read_properties(package)
    return draft.document("pptx", title, metadata._replace(n_pages=len(slides)))


def _write_slide(package: Package, part: str, authors: dict[str, str], dates: set[str], draft: Draft) -> None:
    relations = tuple(dict.fromkeys(package.relations(part).values()))
    all_shapes = _in_reading_order([_slide(package, part)])
    shapes = [shape for shape in all_shapes if shape.placeholder != "sldNum" and not _repeats_date(shape, dates)]
    title = next((shape for shape in shapes if shape.placeholder in _TITLES and shape.lines()), None)
    if title:
        draft.heading(1, " ".join(title.lines()))
        shapes.remove(title)
    for shape in shapes:
        for block in shape.blocks:
            write_block(block, draft)
        draft.paragraph(shape.description)
    for text in drawing_texts(package, relations):
        draft.paragraph(text)
    if notes := _notes(package, relations):
        draft.paragraph("\n".join(("Notes:", *notes)))
    for comment in read_comments(package, relations, authors):
        draft.paragraph(f"> {comment.text}")


def _repeats_date(shape: _Shape, dates: set[str]) -> bool:
    """Whether a shape is a date in the margin that an earlier slide has; record it."""
    text = " ".join(shape.lines()) if shape.placeholder == "dt" else ""
    is_repeated = text in dates
    dates.update([text] if text else ())
    return is_repeated


def _notes(package: Package, relations: Iterable[Relation]) -> list[str]:
    pages = (_slide(package, relation.part) for relation in relations if relation.role == "notesSlide")
    shapes = (shape for page in pages for shape in _in_reading_order([page]))
    return [line for shape in shapes if shape.placeholder == "body" for line in shape.lines()]


def _slide(package: Package, part: str) -> _Shape:
    """Read a slide as the group of all of its shapes."""
    slide = _Slide()
    read_xml(package.pieces(part), slide, skipped=_SKIPPED)
    return slide.root


class _SlideOrder:
    def __init__(self) -> None:
        self.ids: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sldId":
            self.ids.append(attributes.get("id", ""))

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Shape:
    """A shape on a slide; `placeholder` is the type of its placeholder, "" for none."""

    def __init__(self) -> None:
        self.placeholder = ""
        self.description = ""
        """The alternative text of a picture."""

        self.blocks: list[Block] = []
        self.inner: list[_Shape] = []
        """The shapes of a group."""

        self.frame: list[dict[str, str]] = []
        """Its corner and its size as they are written; empty if its position is that of its layout."""

    def lines(self) -> list[str]:
        return [block.text.strip() for block in self.blocks if isinstance(block, Paragraph) and block.text.strip()]


class _Region(NamedTuple):
    """A shape with a position, and those without one that were drawn after it; `number` counts in drawing order."""

    left: int
    top: int
    right: int
    bottom: int
    number: int
    shapes: list[_Shape]


def _in_reading_order(shapes: Iterable[_Shape]) -> list[_Shape]:
    """Return shapes from top to bottom and, side by side, from left to right; groups stay together.

    A shape without a position follows the one that was drawn before it.
    """
    unplaced: list[_Shape] = []
    regions: list[_Region] = []
    for shape in shapes:
        ordered = [*_in_reading_order(shape.inner)] if shape.inner else []
        if shape.blocks or shape.description:
            ordered.insert(0, shape)
        if ordered and (region := _begin_region(shape.frame, len(regions))):
            regions.append(region)
        (regions[-1].shapes if regions else unplaced).extend(ordered)
    return unplaced + [shape for region in _sort_by_gaps(regions) for shape in region.shapes]


def _begin_region(frame: list[dict[str, str]], number: int) -> _Region | None:
    try:
        corner, size = frame[:2]
        left, top = int(corner["x"]), int(corner["y"])
        return _Region(left, top, left + int(size["cx"]), top + int(size["cy"]), number, [])
    except (KeyError, ValueError):
        return None


def _sort_by_gaps(regions: list[_Region], depth: int = 0) -> list[_Region]:
    """Return regions in reading order: a recursive XY cut (Nagy and Seth 1984) at the gaps between rows or columns.

    Where both splits are possible, as for four boxes, the one closer to the drawing order is taken.
    """
    if len(regions) == 1 or all(
        above.bottom <= below.top for above, below in pairwise(regions)
    ):  # most slides are drawn so
        return regions
    rows, columns = _split_at_gaps(regions, 1, 3), _split_at_gaps(regions, 0, 2)
    parts = min(rows, columns, key=_n_inversions) if len(rows) > 1 < len(columns) else max(rows, columns, key=len)
    if len(parts) == 1 or depth == _MAX_CUTS:
        return sorted(regions, key=itemgetter(1, 0))
    return [region for part in parts for region in _sort_by_gaps(part, depth + 1)]


def _split_at_gaps(regions: list[_Region], low: Literal[0, 1], high: Literal[2, 3]) -> list[list[_Region]]:
    """Split shapes at the gaps in one direction; they may overlap a little, as text frames do.

    `low` and `high` are the indices of the two sides of a region in that direction.
    """
    parts: list[list[_Region]] = []
    reach = 0
    for region in sorted(regions, key=itemgetter(low)):
        start, end = region[low], region[high]
        margin = (end - start) // _OVERLAP_DIVISOR
        if not parts or start + margin >= reach:
            parts.append([region])
            reach = end - margin
        else:
            parts[-1].append(region)
            reach = max(reach, end - margin)
    return parts


def _n_inversions(parts: list[list[_Region]]) -> int:
    numbers = [number for part in parts for number in sorted(region.number for region in part)]
    return sum(after < before for before, after in pairwise(numbers))


class _Slide:
    """Turns the elements of a slide into shapes."""

    def __init__(self) -> None:
        self.root = _Shape()
        self._open = [self.root]
        self._story = story = BlockBuilder(self._add)
        formulas = Formulas(story)
        self._depth = ""
        self._is_bulleted = True
        self._is_text = False
        self._is_superscript = False
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "ph": self._set_placeholder,
            "p": self._begin_paragraph,
            "pPr": self._set_depth,
            "r": self._set_superscript,
            "rPr": self._set_superscript,
            "buNone": lambda _: self._set_bulleted(is_bulleted=False),
            "br": lambda _: story.write("\n"),
            "tab": lambda _: story.write("\t"),
            "tbl": lambda _: story.tables.begin(),
            "tr": lambda _: story.tables.begin_row(),
            "tc": self._begin_cell,
            "cNvPr": self._describe,
            **dict.fromkeys(("off", "ext"), self._add_frame),
            **dict.fromkeys(_SHAPES, self._begin_shape),
            **formulas.starts,
        }
        self._ends: dict[str, Callable[[], None]] = {
            "p": self._end_paragraph,
            "tc": story.tables.end_cell,
            "tbl": self._end_table,
            **dict.fromkeys(_SHAPES, self._end_shape),
            **formulas.ends,
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "t":
            self._is_text = True
        elif begin := self._starts.get(name):
            begin(attributes)

    def text(self, text: str) -> None:
        if self._is_text and self._is_superscript:
            self._story.write_superscript(text)
        elif self._is_text:
            self._story.write(text)

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif end := self._ends.get(name):
            end()

    def _add(self, block: Block) -> None:
        if isinstance(block, Table) or block.text.strip():
            self._open[-1].blocks.append(block)

    def _begin_shape(self, _: dict[str, str]) -> None:
        shape = _Shape()
        self._open[-1].inner.append(shape)
        self._open.append(shape)

    def _end_shape(self) -> None:
        self._open.pop()

    def _describe(self, attributes: dict[str, str]) -> None:
        if text := attributes.get("descr") or attributes.get("title", ""):
            self._open[-1].description = description(text)

    def _add_frame(self, attributes: dict[str, str]) -> None:
        self._open[-1].frame.append(attributes)

    def _set_placeholder(self, attributes: dict[str, str]) -> None:
        self._open[-1].placeholder = attributes.get("type", "obj")

    def _begin_paragraph(self, _: dict[str, str]) -> None:
        self._story.begin_paragraph()
        self._depth, self._is_bulleted = "", True

    def _set_depth(self, attributes: dict[str, str]) -> None:
        self._depth = attributes.get("lvl", "")

    def _set_superscript(self, attributes: dict[str, str]) -> None:
        """Set whether a run is above the baseline; it is on it until its properties follow."""
        raised = attributes.get("baseline", "").strip("0%")
        self._is_superscript = bool(raised) and not raised.startswith("-")

    def _set_bulleted(self, *, is_bulleted: bool) -> None:
        self._is_bulleted = is_bulleted

    def _end_paragraph(self) -> None:
        is_item = self._is_bulleted and self._open[-1].placeholder in _BULLETED and not self._story.tables.innermost
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
_BULLETED: Final = frozenset({"body", "obj"})
_SHAPES: Final = frozenset({"sp", "graphicFrame", "pic", "cxnSp", "grpSp"})
_MAX_CUTS: Final = 20
_OVERLAP_DIVISOR: Final = 10
"""A shape may reach into the next row or column by its height or width divided by this."""

_DEPTHS: Final = {str(depth): depth for depth in range(1, 9)}
_TRUE: Final = frozenset({"1", "true"})
_SKIPPED: Final = frozenset({"Fallback", "tabLst"})
