"""Comments on slides and sheets, which are in parts of their own, as are the names of their authors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.extractors.packages import Package, Relation
from directory_indexer.extractors.xml_events import read_xml


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


_THREADED: Final = "threadedComment"
_AUTHOR_ROLES: Final = frozenset({"commentAuthors", "authors", "person"})
_COMMENT_ROLES: Final = frozenset({"comments", _THREADED})
_AUTHORS: Final = frozenset({"cmAuthor", "author", "person"})
_COMMENTS: Final = frozenset({"cm", "reply", "comment", "threadedComment"})
_TEXTS: Final = frozenset({"t", "text", "author"})
_COPY: Final = "tc="
"""The prefix of the author of a copied thread, followed by the id of the thread."""
