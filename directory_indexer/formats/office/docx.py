"""Word documents: the visible text, with headings, tables, footnotes, endnotes and comments where they belong.

Tracked insertions are kept, tracked deletions are not. Text boxes are stored twice, once for older programs; only the
first is read. Files included as they are (`altChunk`) are read where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.blocks import Block, BlockBuilder, Paragraph, join_continued_cells, write_block
from directory_indexer.formats.containers import MAX_DEPTH, Budget
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, Draft, span
from directory_indexer.formats.office.docx_styles import ParagraphForm, Styles, read_styles
from directory_indexer.formats.office.ooxml_parts import Formulas, drawing_texts, read_properties
from directory_indexer.formats.packages import Package, Relation
from directory_indexer.formats.raised_marks import InlineText
from directory_indexer.formats.xml_events import read_xml

with lazily:
    from directory_indexer.formats.decoding import decode
    from directory_indexer.formats.extraction import extract
    from directory_indexer.formats.html_blocks import page_blocks
    from directory_indexer.formats.html_tokens import description
    from directory_indexer.formats.mail.message import web_pages
    from directory_indexer.formats.recognition import kind_of

_HEADERS_AND_FOOTERS: Final = frozenset({"header", "footer"})
_SHAPES: Final = frozenset({"shape", "rect", "roundrect", "oval", "group", "line"})
_GREEK: Final = {
    f"{first + index:x}": letter
    for first, letters in ((0x41, "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"), (0x61, "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"))
    for index, letter in enumerate(letters)
} | {"a3": "\u2264", "b0": "\u00b0", "b1": "\u00b1", "b3": "\u2265", "b4": "\u00d7", "ae": "\u2192"}
_MAX_FIELD_CODE: Final = 4_000
_HYPERLINK: Final = re.compile(r"""\s*HYPERLINK\s+"([^"\s<>]+)\"""", re.IGNORECASE)
_CHARACTERS: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
SKIPPED: Final = frozenset(
    "del moveFrom delText delInstrText Fallback rt tabs binData pPrChange rPrChange sectPrChange tblPrChange "
    "tblPrExChange tblGridChange trPrChange tcPrChange numberingChange".split()
)


NoteKey: TypeAlias = tuple[str, str]
"""`footnote`, `endnote` or `comment`, and the number by which the text refers to it."""

_PARTS: Final = {"footnotes": "word/footnotes.xml", "endnotes": "word/endnotes.xml", "comments": "word/comments.xml"}
_NOTE_ROLES: Final = frozenset({"footnote", "endnote", "comment"})
_BREAKS: Final = frozenset({"p", "tab", "br", "cr", "tc"})


def read_docx(package: Package, main: str) -> Document:
    """Read a document by its main part; headers and footers come last, each text once.

    Raises:
        SkipFileError: it is more than is read.
        ExtractionError: the main part is damaged, and nothing of it can be read.
    """
    draft = Draft()
    by_id = package.relations(main)
    relations = tuple(dict.fromkeys(by_id.values()))
    parts = {relation.role: relation.part for relation in relations}
    styles = read_styles(package, parts)
    body = DocxBody(
        draft,
        styles,
        read_notes(package, parts, styles),
        partial(_included_blocks, package, by_id),
        package.addresses(main),
    )
    problem = read_xml(package.pieces(main), body, skipped=SKIPPED)
    body.write_unplaced_notes()
    if problem and draft.is_empty:
        raise problem
    package.note_damage(problem)
    _write_headers_and_footers(
        package, sorted(relation.part for relation in relations if relation.role in _HEADERS_AND_FOOTERS), styles, draft
    )
    for text in drawing_texts(package, relations):
        draft.paragraph(text)
    title, metadata = read_properties(package)
    return draft.document("docx", title, metadata)


class DocxBody:
    """Turns the elements of a part into a story.

    `include` reads a file that is included in it; `addresses` are those of its links.
    """

    def __init__(
        self,
        draft: Draft,
        styles: Styles,
        notes: dict[NoteKey, str],
        include: Callable[[str], Iterable[Block]] = lambda _: (),
        addresses: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._styles = styles
        self._notes = notes
        self._n_placed = {"footnote": 0, "endnote": 0}
        self._story = story = BlockBuilder(partial(write_block, draft=draft))
        self._forms: list[ParagraphForm] = []
        self._is_text = False
        self._run = _Run(styles)
        self._descriptions: set[str] = set()
        self._drop_down = _DropDown()
        self._is_field_code = False
        self._field_code = ""
        formulas = Formulas(story)
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "p": self._begin_paragraph,
            "pStyle": lambda attributes: self._set_form(style=attributes.get("val", "")),
            "outlineLvl": lambda attributes: self._set_form(outline=attributes.get("val", "")),
            "numId": lambda attributes: self._set_form(numbering=attributes.get("val", "")),
            "ilvl": lambda attributes: self._set_form(depth=attributes.get("val", "")),
            "sym": lambda attributes: story.write(_symbol(attributes)),
            "txbxContent": lambda _: story.begin_aside(),
            "tbl": lambda _: story.tables.begin(),
            "tr": lambda _: story.tables.begin_row(),
            "tc": lambda _: story.tables.begin_cell(),
            "gridBefore": self._skip_columns,
            "gridSpan": self._span_columns,
            "vMerge": self._continue_cell,
            "footnoteReference": lambda attributes: self._place_note("footnote", attributes.get("id", "")),
            "endnoteReference": lambda attributes: self._place_note("endnote", attributes.get("id", "")),
            "commentReference": lambda attributes: self._place_note("comment", attributes.get("id", "")),
            "altChunk": lambda attributes: story.place(include(attributes.get("id", ""))),
            "docPr": lambda attributes: self._add_description(attributes.get("descr") or attributes.get("title", "")),
            "textpath": lambda attributes: self._add_description(attributes.get("string", "")),
            **dict.fromkeys(_SHAPES, lambda attributes: self._add_description(attributes.get("alt", ""))),
            "hyperlink": lambda attributes: self._note_address(addresses.get(attributes.get("id", ""), "")),
            "fldSimple": lambda attributes: self._note_address(_address_of(attributes.get("instr", ""))),
            "fldChar": lambda _: self._end_field_code(),
            "ddList": lambda _: self._drop_down.begin(),
            "result": lambda attributes: self._drop_down.choose(attributes.get("val", "")),
            "listEntry": lambda attributes: self._drop_down.add(attributes.get("val", "")),
            **self._run.starts,
            **formulas.starts,
        }
        self._ends: dict[str, Callable[[], None]] = {
            "p": self._end_paragraph,
            "txbxContent": story.end_aside,
            "tbl": self._end_table,
            "tc": story.tables.end_cell,
            "ddList": lambda: story.write(self._drop_down.chosen),
            **formulas.ends,
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if name == "t":
            self._is_text = True
        elif name == "instrText":
            self._is_field_code = True
        elif begin := self._starts.get(name):
            begin(attributes)
        elif character := _CHARACTERS.get(name):
            self._story.write(character)

    def text(self, text: str) -> None:
        """Handle a run of text."""
        if self._is_text:
            self._run.write(text, self._story)
        elif self._is_field_code and len(self._field_code) < _MAX_FIELD_CODE:
            self._field_code += text

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if name == "t":
            self._is_text = False
        elif name == "instrText":
            self._is_field_code = False
        elif end := self._ends.get(name):
            end()

    def write_unplaced_notes(self) -> None:
        """Write the notes that no mark referred to."""
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

    def _end_field_code(self) -> None:
        """Read the code of a field, which may come in several pieces, at its separator or end."""
        self._note_address(_address_of(self._field_code))
        self._field_code = ""

    def _note_address(self, address: str) -> None:
        """Write the address of a link below its paragraph, so that it splits no phrase."""
        if address and len(address) < _MAX_FIELD_CODE:
            self._story.note(f"<{address}>")

    def _add_description(self, text: str) -> None:
        """Put the alternative text of a picture, or the text of word art, beside the paragraph, each once."""
        if text and (text := description(text)) and text not in self._descriptions:
            self._descriptions.add(text)
            self._story.place([Paragraph(text)])

    def _begin_paragraph(self, _: dict[str, str]) -> None:
        self._story.begin_paragraph()
        self._forms.append(ParagraphForm())

    def _end_paragraph(self) -> None:
        level, mark = self._styles.level_and_mark(self._forms.pop())
        self._story.end_paragraph(level, mark)

    def _set_form(self, **form: str) -> None:
        if self._forms:
            self._forms[-1] = self._forms[-1]._replace(**form)

    def _skip_columns(self, attributes: dict[str, str]) -> None:
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


class _Run:
    """The formatting of a run of text."""

    def __init__(self, styles: Styles) -> None:
        self._is_superscript = False
        self.starts: dict[str, Callable[[dict[str, str]], None]] = {
            "r": lambda _: self._align(""),
            "rStyle": lambda attributes: self._align(styles.alignment(attributes.get("val", ""))),
            "vertAlign": lambda attributes: self._align(attributes.get("val", "")),
            "position": lambda attributes: self._align(_alignment_at(attributes.get("val", ""))),
        }

    def write(self, text: str, into: BlockBuilder | InlineText) -> None:
        """Write text of the run."""
        if self._is_superscript:
            into.write_superscript(text)
        else:
            into.write(text)

    def _align(self, alignment: str) -> None:
        self._is_superscript = alignment == "superscript"


def _symbol(attributes: dict[str, str]) -> str:
    """Return the Greek letter that stands at a place in the font Symbol; other symbols are ornaments."""
    place = attributes.get("char", "")[-2:].lower()
    return _GREEK.get(place, "") if attributes.get("font") == "Symbol" else ""


def _alignment_at(position: str) -> str:
    """Return the alignment of text that is raised by a number of half points, or lowered by it."""
    return "superscript" if position.strip("0") and not position.startswith("-") else ""


def _address_of(field_code: str) -> str:
    match = _HYPERLINK.match(field_code)
    return match[1] if match else ""


def read_notes(package: Package, parts: dict[str, str], styles: Styles) -> dict[NoteKey, str]:
    """Return the notes of a document, each on one line; a comment begins with its author."""
    notes = _Notes(styles)
    for role, usual in _PARTS.items():
        read_xml(package.pieces(parts.get(role, usual)), notes, skipped=SKIPPED)
    return {key: text for key, text in notes.by_key.items() if text}


def _write_headers_and_footers(package: Package, parts: list[str], styles: Styles, draft: Draft) -> None:
    seen_texts: set[str] = set()
    for part in parts:
        draft_of_part = Draft()
        read_xml(package.pieces(part), DocxBody(draft_of_part, styles, {}), skipped=SKIPPED)
        text = draft_of_part.document("docx").text
        if text not in seen_texts:
            seen_texts.add(text)
            draft.paragraph(text)


def _included_blocks(package: Package, relations: dict[str, Relation], number: str) -> list[Block]:
    """Return the blocks of an included file of any format, the first time; none if it is damaged."""
    relation, budget = relations.pop(number, None), package.budget
    if relation is None or budget.depth == MAX_DEPTH:
        return []
    budget.depth += 1
    try:
        return _blocks_of_file(b"".join(package.pieces(relation.part)), FilePath(relation.part), budget)
    except ExtractionError:
        if budget.is_spent:
            raise
        return []
    finally:
        budget.depth -= 1


def _blocks_of_file(content: bytes, path: FilePath, budget: Budget) -> list[Block]:
    kind = kind_of(path, content)
    if kind == "html":
        return page_blocks(decode(content))
    if kind == "mhtml":
        return [block for page in web_pages(content, budget) for block in page_blocks(page)]
    return list(_paragraphs(extract(content, path, budget)))


def _paragraphs(document: Document) -> Iterator[Paragraph]:
    starts = [section.start for section in document.sections]
    sections = document.sections or (Section(0),)
    for section, end in zip(sections, [*starts[1:], len(document.text)], strict=True):
        text = document.text[section.start : end].strip("\n")
        heading, _, rest = text.partition("\n")
        if section.headings and " ".join(heading.split()) == section.headings[-1]:
            yield Paragraph(heading, len(section.headings))
            text = rest
        yield from map(Paragraph, text.strip("\n").split("\n\n"))


class _DropDown:
    """The choices of a drop-down field, counted from 0; its text is the chosen one."""

    def __init__(self) -> None:
        self._all: list[str] = []
        self._number = ""

    @property
    def chosen(self) -> str:
        return next((text for number, text in enumerate(self._all) if str(number) == (self._number or "0")), "")

    def begin(self) -> None:
        self._all, self._number = [], ""

    def choose(self, number: str) -> None:
        self._number = number

    def add(self, text: str) -> None:
        self._all.append(text)


class _Notes:
    def __init__(self, styles: Styles) -> None:
        self.by_key: dict[NoteKey, str] = {}
        self._key: NoteKey | None = None
        self._text = InlineText()
        self._run = _Run(styles)
        self._is_text = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _NOTE_ROLES:
            # Word stores the separator lines between text and notes as notes, too.
            self._key = (name, attributes.get("id", "")) if attributes.get("type", "normal") == "normal" else None
            author = attributes.get("author", "")
            self._text.take()
            self._text.write(f"{author}: " if author and name == "comment" else "")
        elif name == "t":
            self._is_text = True
        elif name in _BREAKS:
            self._text.write(" ")
        elif begin := self._run.starts.get(name):
            begin(attributes)

    def text(self, text: str) -> None:
        if self._is_text:
            self._run.write(text, self._text)

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif name in _NOTE_ROLES and self._key:
            self.by_key[self._key] = " ".join(self._text.take().split())
