"""Parts of Office Open XML packages: metadata, comments, text in drawings, and formulas.

Comments on slides and sheets are in parts of their own, as are the names of their authors. Formulas (ECMA-376, 22.1)
are written on one line, with signs instead of layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.formats.blocks import BlockBuilder
from directory_indexer.formats.document import Metadata
from directory_indexer.formats.metadata import iso_time, primary_language, single_line_value, split_list
from directory_indexer.formats.packages import Package, Relation
from directory_indexer.formats.xml_events import XmlValues, read_xml

_PROPERTY_PARTS: Final = {"core-properties": "docProps/core.xml", "extended-properties": "docProps/app.xml"}
_MAX_DIGITS: Final = 6

_THREADED: Final = "threadedComment"
_AUTHOR_ROLES: Final = frozenset({"commentAuthors", "authors", "person"})
_COMMENT_ROLES: Final = frozenset({"comments", _THREADED})
_AUTHORS: Final = frozenset({"cmAuthor", "author", "person"})
_COMMENTS: Final = frozenset({"cm", "reply", "comment", "threadedComment"})
_TEXTS: Final = frozenset({"t", "text", "author"})
_COPY: Final = "tc="
"""The prefix of the author of a copied thread, followed by the id of the thread."""

_DRAWINGS: Final = frozenset({"chart", "chartEx", "diagramData", "drawing", "chartUserShapes"})
_LABEL_TEXTS: Final = frozenset({"t", "v"})
_LINES: Final = frozenset({"p", "v", "txPr"})
_SKIPPED: Final = frozenset({"numCache", "numLit", "Fallback", "fld"})
"""The numbers of a chart are skipped, since they are in its sheet."""

_ATOM: Final = re.compile(r"[^\W\d_]|\d+(?:[.,]\d+)?|\([^()]*\)")


class DocumentProperties(NamedTuple):
    """The title of a package, and its other metadata."""

    title: str
    metadata: Metadata


def read_properties(package: Package) -> DocumentProperties:
    """Return the properties of a package; damaged or missing ones are empty."""
    xml_values = XmlValues()
    for part in _parts(package):
        read_xml(package.pieces(part), xml_values)
    return properties_of(xml_values.first)


def properties_of(value_of: Callable[[str], str]) -> DocumentProperties:
    """Return properties by the names that they have in packages."""
    return DocumentProperties(
        value_of("title"),
        Metadata(
            authors=split_list(value_of("creator")),
            created=iso_time(value_of("created")),
            modified=iso_time(value_of("modified")),
            language=primary_language(value_of("language")),
            subject=single_line_value(value_of("subject")),
            tags=split_list(value_of("keywords")),
            n_pages=_number(value_of("Pages")),
        ),
    )


class Comment(NamedTuple):
    """A comment prefixed with its author; `cell` is its cell in a sheet, "" on a slide."""

    cell: str
    text: str


def read_authors(package: Package, relations: Iterable[Relation]) -> dict[str, str]:
    """Return the names of the authors of comments, by the ids in the comments."""
    authors = _Authors()
    for relation in relations:
        if relation.role in _AUTHOR_ROLES:
            read_xml(package.pieces(relation.part), authors)
    return authors.by_id


def read_comments(package: Package, relations: Iterable[Relation], authors: dict[str, str]) -> list[Comment]:
    """Return the comments of a slide or a sheet; threaded comments replace their copy for older programs."""
    comments = _Comments(authors)
    for relation in sorted(relations, key=lambda relation: relation.role != _THREADED):
        if relation.role in _COMMENT_ROLES:
            read_xml(package.pieces(relation.part), comments)
    return list(comments.comments())


def drawing_texts(package: Package, relations: Iterable[Relation]) -> Iterator[str]:
    """Yield the text of each chart and diagram that a part refers to, one paragraph or label to a line."""
    for relation in relations:
        if relation.role in _DRAWINGS:
            labels = _Labels()
            read_xml(package.pieces(relation.part), labels, skipped=_SKIPPED)
            if labels.lines:
                yield "\n".join(labels.lines)
        if relation.role == "drawing":
            yield from drawing_texts(package, _charts(package, relation.part))


class Formulas:
    """Writes the structure of formulas into a story; their letters and numbers are ordinary text.

    `starts` and `ends` are the handlers of the elements of formulas, by their names.
    """

    def __init__(self, story: BlockBuilder) -> None:
        self._story = story
        self._brackets: list[list[str]] = []
        self.starts: dict[str, Callable[[dict[str, str]], None]] = {
            "num": lambda _: story.begin_span(),
            "den": lambda _: story.begin_span(),
            "rad": lambda _: story.begin_span(),
            "d": lambda _: self._begin_brackets(),
            "begChr": lambda attributes: self._set_bracket(0, attributes.get("val", "")),
            "endChr": lambda attributes: self._set_bracket(1, attributes.get("val", "")),
        }
        self.ends: dict[str, Callable[[], None]] = {
            "num": lambda: story.write(f"{_operand(story.end_span())}/"),
            "den": lambda: story.write(_operand(story.end_span())),
            "rad": lambda: story.write(f"√{_operand(story.end_span())}"),
            "d": self._end_brackets,
        }

    def _begin_brackets(self) -> None:
        self._brackets.append(["(", ")"])
        self._story.begin_span()

    def _set_bracket(self, side: int, sign: str) -> None:
        if self._brackets:
            self._brackets[-1][side] = sign[:1]

    def _end_brackets(self) -> None:
        opening, closing = self._brackets.pop() if self._brackets else ("", "")
        self._story.write(f"{opening}{self._story.end_span()}{closing}")


def _parts(package: Package) -> list[str]:
    by_role = {relation.role: relation.part for relation in package.relations().values()}
    return [by_role.get(role, usual) for role, usual in _PROPERTY_PARTS.items()]


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < _MAX_DIGITS and int(text) else None


class _Authors:
    def __init__(self) -> None:
        self.by_id: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _AUTHORS:
            self.by_id[attributes.get("id", "")] = attributes.get("name") or attributes.get("displayName", "")

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _OpenComment:
    def __init__(self, cell: str, author: str) -> None:
        self.cell = cell
        self.author = author
        self.pieces: list[str] = []


class _Comments:
    """Comments in document order; replies may be nested in the comment that they reply to."""

    def __init__(self, authors: dict[str, str]) -> None:
        self._authors = authors
        self._own_authors: list[str] = []
        self._all: list[_OpenComment] = []
        self._open: list[_OpenComment] = []
        self._is_text = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _COMMENTS:
            comment = _OpenComment(attributes.get("ref", ""), self._author(attributes))
            self._all.append(comment)
            self._open.append(comment)
        elif name == "author":
            self._own_authors.append("")
        elif name == "p" and self._open:
            self._open[-1].pieces.append(" ")
        self._is_text = name in _TEXTS

    def _author(self, attributes: dict[str, str]) -> str:
        author = attributes.get("personId") or attributes.get("authorId", "")
        if author.isdecimal() and int(author[:9]) < len(self._own_authors):
            return self._own_authors[int(author[:9])]
        return self._authors.get(author, "")

    def text(self, text: str) -> None:
        if not self._is_text:
            return
        if self._open:
            self._open[-1].pieces.append(text)
        elif self._own_authors:
            self._own_authors[-1] += text

    def end(self, name: str) -> None:
        self._is_text = False
        if name in _COMMENTS:
            self._open.pop()

    def comments(self) -> Iterable[Comment]:
        in_threads = {comment.cell for comment in self._all if comment.cell and not comment.author.startswith(_COPY)}
        for comment in self._all:
            text = " ".join("".join(comment.pieces).split())
            if comment.author.startswith(_COPY) and comment.cell in in_threads:
                continue
            if text:
                yield Comment(comment.cell, f"{comment.author}: {text}" if comment.author else text)


def _charts(package: Package, drawing: str) -> Iterator[Relation]:
    return (
        relation
        for relation in package.relations(drawing).values()
        if relation.role in _DRAWINGS and relation.role != "drawing"
    )


class _Labels:
    """The paragraphs of a drawing, and the names of the series and categories of a chart, each text once."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self._pieces: list[str] = []
        self._is_text = False

    def start(self, name: str, _: dict[str, str]) -> None:
        self._is_text = name in _LABEL_TEXTS

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        self._is_text = False
        if name in _LINES and (line := " ".join("".join(self._pieces).split())):
            self.lines[line] = None
        if name in _LINES:
            self._pieces.clear()


def _operand(text: str) -> str:
    text = text.strip()
    return text if _ATOM.fullmatch(text) else f"({text})"
