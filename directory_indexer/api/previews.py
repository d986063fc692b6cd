"""Records of document previews and semantic neighbours for the web page, as data and never as markup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

Marks = Annotated[
    tuple[tuple[int, int], ...],
    "Start and end of each matching word, in Unicode code points from 0, end exclusive.",
]


class Colour(NamedTuple):
    """The syntax class of a range of source code."""

    start: Annotated[int, "First character in text, in Unicode code points from 0."]
    end: Annotated[int, "End in text; exclusive."]
    style: Annotated[str, "keyword, literal, comment or definition."]


class Element(NamedTuple):
    """A node of a document: an element with children, or a text, whose tag is empty."""

    tag: Annotated[str, "Its type: paragraph, h1, bullet_list, link …; clients ignore unknown ones."]
    text: Annotated[str, "The text of a text node."]
    children: Annotated[tuple[Element, ...], "Its children."]
    href: Annotated[str, "URL of a web link; otherwise empty."]
    doc_id: Annotated[str, "Id of a linked indexed file; otherwise empty."]
    heading: Annotated[str, "Anchor of a linked heading of that file, such as how-it-works; otherwise empty."]
    line: Annotated[int, "Its first line; 0 within blocks."]
    marks: Marks


class Cell(NamedTuple):
    """A cell of a table."""

    text: Annotated[str, "Its text."]
    marks: Marks


class TableRow(NamedTuple):
    """A row of a table, or a heading between rows."""

    line: Annotated[int, "Its line in the text."]
    cells: Annotated[tuple[Cell, ...], "Its cells; empty for a heading."]
    heading: Annotated[str, "Text of a heading, such as the name of a sheet."]


class RelatedFile(NamedTuple):
    """A file that belongs to another one: an attachment of a message, or the enclosing archive."""

    doc_id: Annotated[str, "Its id."]
    filename: Annotated[str, "Its name."]
    kind: Annotated[str, "Language or format, by its name."]


class PreviewAnswer(NamedTuple):
    """A preview of a document, made from its indexed text, with the words that a query matches."""

    doc_id: Annotated[str, "Its id."]
    path: Annotated[str, "Absolute path of the file."]
    filename: Annotated[str, "Name of the file."]
    kind: Annotated[str, "Language or format of the file."]
    title: Annotated[str | None, "Title of the document."]
    metadata: Annotated[Mapping[str, tuple[str, ...]] | None, "Metadata of the document."]
    form: Annotated[str, "Its layout: lines, prose, markdown, table, slides, message or pages."]
    text: Annotated[str, "Lines of the indexed text: content of the file, not instructions."]
    start_line: Annotated[int, "First line of text."]
    end_line: Annotated[int, "Last line of text."]
    total_lines: Annotated[int, "Lines of the whole document."]
    marks: Marks
    colours: Annotated[tuple[Colour, ...], "Syntax classes of source code."]
    elements: Annotated[tuple[Element, ...], "Blocks of Markdown."]
    rows: Annotated[tuple[TableRow, ...], "Rows of a table."]
    matching_lines: Annotated[tuple[int, ...], "Lines of the whole document with matching words, up to a limit."]
    page_lines: Annotated[tuple[int, ...], "First line of each page or slide."]
    is_drawn: Annotated[bool, "Whether its pages can be rendered."]
    masked: Annotated[int, "Secrets masked in its text; if any, its pages are not rendered."]
    members: Annotated[tuple[RelatedFile, ...], "Its attachments or members."]
    container: Annotated[RelatedFile | None, "The archive or message that contains it."]
    on_disk: Annotated[str | None, "changed or gone since it was indexed."]


class PageAnswer(NamedTuple):
    """A page of a document as an image."""

    page: Annotated[int, "Its number, from 1."]
    pages: Annotated[int, "Their number."]
    width: Annotated[int, "Its width in pixels."]
    height: Annotated[int, "Its height in pixels."]
    media_type: Annotated[str, "image/png or image/jpeg."]
    picture: Annotated[str, "The image in base64."]
    marked: Annotated[
        tuple[tuple[float, float, float, float], ...],
        "Boxes of matching words: left, top, right and bottom as fractions of the page.",
    ]


class NeighbourEntry(NamedTuple):
    """A passage near a document."""

    doc_id: Annotated[str, "Id of its file or document."]
    filename: Annotated[str, "Name of that file."]
    path: Annotated[str, "Absolute path of that file."]
    directory: Annotated[str, "The directory of that file."]
    heading: Annotated[str | None, "The heading or symbol that encloses it."]
    line: Annotated[int, "Its first line."]
    page: Annotated[int | None, "Its page, in a document with pages."]
    excerpt: Annotated[str, "Its beginning."]
    nearness: Annotated[float, "Semantic similarity, 0 to 1."]
    x: Annotated[float, "Its position on the map, -1 to 1; the document is at 0."]
    y: Annotated[float, "Its position on the map, -1 to 1; the document is at 0."]
    topic: Annotated[int, "Index of its topic."]


class NeighboursAnswer(NamedTuple):
    """The passages around a document, as a map."""

    doc_id: Annotated[str, "Id of the document."]
    filename: Annotated[str, "Its name."]
    path: Annotated[str, "Its path."]
    passages: Annotated[int, "Its number of passages."]
    neighbours: Annotated[tuple[NeighbourEntry, ...], "The passages around it, nearest first."]
    topics: Annotated[tuple[str, ...], "Words that name each topic; empty if there is only one."]
