"""Word documents: what a reader sees, with headings, tables, notes and comments where they belong.

What was inserted while changes were tracked is there, what was deleted is not. Text boxes are stored twice, once for
older programs; only the first is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.docx_notes import NoteKey, read_notes
from directory_indexer.extractors.office.docx_styles import ParagraphForm, Styles, read_styles
from directory_indexer.extractors.office.drawings import drawing_texts
from directory_indexer.extractors.office.ooxml_properties import read_properties
from directory_indexer.extractors.office.stories import Story, join_continued_cells, write_block
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.tables import MAX_COLUMN_SPAN, span
from directory_indexer.extractors.xml_events import read_xml


def read_docx(package: Package, main: str) -> Document:
    """Read a document by its main part; headers and footers come last, each text once.

    Raises:
        SkipFileError: it is more than is read.
        ExtractionError: the main part is damaged, and nothing of it can be read.
    """
    draft = Draft()
    relations = tuple(dict.fromkeys(package.relations(main).values()))
    parts = {one.role: one.part for one in relations}
    styles = read_styles(package, parts)
    body = _Body(draft, styles, read_notes(package, parts))
    problem = read_xml(package.pieces(main), body, skipped=_SKIPPED)
    body.write_unplaced_notes()
    if problem and draft.is_empty:
        raise problem
    _write_running_texts(package, sorted(one.part for one in relations if one.role in _RUNNING), styles, draft)
    for text in drawing_texts(package, relations):
        draft.paragraph(text)
    title, metadata = read_properties(package)
    return draft.document("docx", title, metadata)


def _write_running_texts(package: Package, parts: list[str], styles: Styles, draft: Draft) -> None:
    seen: set[str] = set()
    for part in parts:
        running = Draft()
        read_xml(package.pieces(part), _Body(running, styles, {}), skipped=_SKIPPED)
        text = running.document("docx").text
        if text not in seen:
            seen.add(text)
            draft.paragraph(text)


class _Body:
    """Turns the elements of a part into a story."""

    def __init__(self, draft: Draft, styles: Styles, notes: dict[NoteKey, str]) -> None:
        self._styles = styles
        self._notes = notes
        self._n_placed = {"footnote": 0, "endnote": 0}
        self._story = story = Story(partial(write_block, draft=draft))
        self._forms: list[ParagraphForm] = []
        self._is_text = False
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "p": self._begin_paragraph,
            "pStyle": lambda attributes: self._shape(style=attributes.get("val", "")),
            "outlineLvl": lambda attributes: self._shape(outline=attributes.get("val", "")),
            "numId": lambda attributes: self._shape(numbering=attributes.get("val", "")),
            "ilvl": lambda attributes: self._shape(depth=attributes.get("val", "")),
            "txbxContent": lambda _: story.begin_aside(),
            "tbl": lambda _: story.tables.begin(),
            "tr": lambda _: story.tables.begin_row(),
            "tc": lambda _: story.tables.begin_cell(),
            "gridBefore": self._leave_columns,
            "gridSpan": self._span_columns,
            "vMerge": self._continue_cell,
            "footnoteReference": lambda attributes: self._place_note("footnote", attributes.get("id", "")),
            "endnoteReference": lambda attributes: self._place_note("endnote", attributes.get("id", "")),
            "commentReference": lambda attributes: self._place_note("comment", attributes.get("id", "")),
        }
        self._ends: dict[str, Callable[[], None]] = {
            "p": self._end_paragraph,
            "txbxContent": story.end_aside,
            "tbl": self._end_table,
            "tc": story.tables.end_cell,
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "t":
            self._is_text = True
        elif begin := self._starts.get(name):
            begin(attributes)
        elif written := _WRITTEN.get(name):
            self._story.write(written)

    def text(self, text: str) -> None:
        if self._is_text:
            self._story.write(text)

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif end := self._ends.get(name):
            end()

    def write_unplaced_notes(self) -> None:
        """Write the notes of which no mark was met."""
        for role, number in tuple(self._notes):
            self._place_note(role, number)
        self._story.flush()

    def _place_note(self, role: str, number: str) -> None:
        text = self._notes.pop((role, number), "")
        if text and role == "comment":
            self._story.note(f"> {text}")
        elif text:
            self._n_placed[role] += 1
            mark = f"[^{'e' if role == 'endnote' else ''}{self._n_placed[role]}]"
            self._story.write(mark)
            self._story.note(f"{mark}: {text}")

    def _begin_paragraph(self, _: dict[str, str]) -> None:
        self._story.begin_paragraph()
        self._forms.append(ParagraphForm())

    def _end_paragraph(self) -> None:
        level, mark = self._styles.level_and_mark(self._forms.pop())
        self._story.end_paragraph(level, mark)

    def _shape(self, **form: str) -> None:
        if self._forms:
            self._forms[-1] = self._forms[-1]._replace(**form)

    def _leave_columns(self, attributes: dict[str, str]) -> None:
        self._story.tables.begin_cell(span(attributes.get("val", ""), MAX_COLUMN_SPAN))
        self._story.tables.end_cell()

    def _span_columns(self, attributes: dict[str, str]) -> None:
        if cell := self._story.tables.cell:
            cell.n_columns = span(attributes.get("val", ""), MAX_COLUMN_SPAN)

    def _continue_cell(self, attributes: dict[str, str]) -> None:
        if cell := self._story.tables.cell:
            cell.is_continued = attributes.get("val", "continue") == "continue"

    def _end_table(self) -> None:
        if table := self._story.tables.innermost:
            join_continued_cells(table)
        self._story.tables.end()


_RUNNING: Final = frozenset({"header", "footer"})
_WRITTEN: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SKIPPED: Final = frozenset(
    "del moveFrom delText delInstrText instrText Fallback rt tabs binData pPrChange rPrChange sectPrChange tblPrChange "
    "tblPrExChange tblGridChange trPrChange tcPrChange numberingChange".split()
)
