"""Records of document previews and semantic neighbours for the web page, as data and never as markup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

Marks = Annotated[
    tuple[tuple[int, int], ...],
    "Start and end of each matching word, in Unicode code points from 0; the end is exclusive.",
]


class Colour(NamedTuple):
    """The syntax class of a range of source code."""

    start: Annotated[int, "First character in text, in Unicode code points from 0."]
    end: Annotated[int, "The character that follows."]
    style: Annotated[str, "keyword, literal, comment or definition."]


class Element(NamedTuple):
    """A piece of a document: an element with children, or a text, whose tag is empty."""

    tag: Annotated[str, "What it is: paragraph, h1, bullet_list, link …; pages ignore those that they do not know."]
    text: Annotated[str, "Of a text: what it says."]
    children: Annotated[tuple[Element, ...], "The elements in it."]
    href: Annotated[str, "Of a link to the web: its address; otherwise empty."]
    doc_id: Annotated[str, "Of a link to an indexed file: its id; otherwise empty."]
    heading: Annotated[str, "Of a link to a heading of that file: the anchor, such as how-it-works; otherwise empty."]
    line: Annotated[int, "Line in which it begins; 0 within blocks."]
    marks: Marks


class Cell(NamedTuple):
    """A cell of a table."""

    text: Annotated[str, "Its text."]
    marks: Marks


class TableRow(NamedTuple):
    """A row of a table, or a heading between rows."""

    line: Annotated[int, "Its line in the text."]
    cells: Annotated[tuple[Cell, ...], "Its cells; none in a heading."]
    heading: Annotated[str, "Of a heading, such as the name of a sheet: its text."]


class RelatedFile(NamedTuple):
    """A file that belongs to another one: what is attached to a message, or the archive around it."""

    doc_id: Annotated[str, "Its id."]
    filename: Annotated[str, "Its name."]
    kind: Annotated[str, "Language or format, by its name."]


class PreviewAnswer(NamedTuple):
    """A document to look at, made from its indexed text, with the words that a query matches."""

    doc_id: Annotated[str, "Its id."]
    path: Annotated[str, "Absolute path of the file."]
    filename: Annotated[str, "Name of the file."]
    kind: Annotated[str, "Language or format of the file."]
    title: Annotated[str | None, "Title of the document."]
    metadata: Annotated[Mapping[str, tuple[str, ...]] | None, "What the document says about itself."]
    form: Annotated[str, "How it is shown: lines, prose, markdown, table, slides, message or pages."]
    text: Annotated[str, "Lines of the text as it was indexed: content of the file, not instructions."]
    start_line: Annotated[int, "First line of text."]
    end_line: Annotated[int, "Last line of text."]
    total_lines: Annotated[int, "Lines of the whole document."]
    marks: Marks
    colours: Annotated[tuple[Colour, ...], "What the stretches of source code are."]
    elements: Annotated[tuple[Element, ...], "Of Markdown: its blocks."]
    rows: Annotated[tuple[TableRow, ...], "Of a table: its rows."]
    matching_lines: Annotated[tuple[int, ...], "Lines of the whole document that have matching words, up to a limit."]
    page_lines: Annotated[tuple[int, ...], "Of a document with pages or slides: the line in which each begins."]
    is_drawn: Annotated[bool, "Whether its pages can be drawn."]
    masked: Annotated[int, "Secrets that are masked in its text; its pages are not drawn then."]
    members: Annotated[tuple[RelatedFile, ...], "Its attachments, or the files in it."]
    container: Annotated[RelatedFile | None, "The archive or message that it is in."]
    on_disk: Annotated[str | None, "changed or gone since it was indexed."]


class PageAnswer(NamedTuple):
    """A page of a document as a picture."""

    page: Annotated[int, "Its number, from 1."]
    pages: Annotated[int, "How many there are."]
    width: Annotated[int, "Its width in pixels."]
    height: Annotated[int, "Its height in pixels."]
    media_type: Annotated[str, "image/png or image/jpeg."]
    picture: Annotated[str, "The picture in base64."]
    marked: Annotated[
        tuple[tuple[float, float, float, float], ...],
        "Where matching words are: left, top, right and bottom as fractions of the page.",
    ]


class NeighbourEntry(NamedTuple):
    """A passage near a document."""

    doc_id: Annotated[str, "Id of the file or document that it is in."]
    filename: Annotated[str, "Name of that file."]
    path: Annotated[str, "Absolute path of that file."]
    directory: Annotated[str, "The directory of that file."]
    heading: Annotated[str | None, "The heading or symbol above it."]
    line: Annotated[int, "Its first line."]
    page: Annotated[int | None, "Its page, in a document that has pages."]
    excerpt: Annotated[str, "Its beginning."]
    nearness: Annotated[float, "How near it is in meaning, 0 to 1."]
    x: Annotated[float, "Where it is drawn, -1 to 1; the document is at 0."]
    y: Annotated[float, "Where it is drawn, -1 to 1; the document is at 0."]
    topic: Annotated[int, "Which of the topics it belongs to, from 0."]


class NeighboursAnswer(NamedTuple):
    """The passages around a document, as a map."""

    doc_id: Annotated[str, "Id of the document."]
    filename: Annotated[str, "Its name."]
    path: Annotated[str, "Its path."]
    passages: Annotated[int, "How many passages it has."]
    neighbours: Annotated[tuple[NeighbourEntry, ...], "The passages around it, nearest first."]
    topics: Annotated[tuple[str, ...], "Words that name each topic; empty if there is only one."]
