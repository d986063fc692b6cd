"""Comments on slides and sheets, which stand in parts of their own, as do the names of those who wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.extractors.packages import Package, Relation
from directory_indexer.extractors.xml_events import read_xml


class Comment(NamedTuple):
    """A comment with its author in front of it; `cell` is where it is in a sheet, "" on a slide."""

    cell: str
    text: str


def read_authors(package: Package, relations: Iterable[Relation]) -> dict[str, str]:
    """Return the names of those who comment, by the ids that their comments have."""
    authors = _Authors()
    for one in relations:
        if one.role in _AUTHOR_ROLES:
            read_xml(package.pieces(one.part), authors)
    return authors.by_id


def read_comments(package: Package, relations: Iterable[Relation], authors: dict[str, str]) -> list[Comment]:
    """Read the comments that a slide or a sheet refers to; those of a thread stand for the copy for older programs."""
    comments = _Comments(authors)
    for one in sorted(relations, key=lambda one: one.role != _THREADED):
        if one.role in _COMMENT_ROLES:
            read_xml(package.pieces(one.part), comments)
    return list(comments.found())


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
    """Comments as they begin; answers may lie in the comment that they answer."""

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

    def found(self) -> Iterable[Comment]:
        in_threads = {one.cell for one in self._all if one.cell and not one.author.startswith(_COPY)}
        for one in self._all:
            text = " ".join("".join(one.pieces).split())
            if one.author.startswith(_COPY) and one.cell in in_threads:
                continue
            if text:
                yield Comment(one.cell, f"{one.author}: {text}" if one.author else text)


_THREADED: Final = "threadedComment"
_AUTHOR_ROLES: Final = frozenset({"commentAuthors", "authors", "person"})
_COMMENT_ROLES: Final = frozenset({"comments", _THREADED})
_AUTHORS: Final = frozenset({"cmAuthor", "author", "person"})
_COMMENTS: Final = frozenset({"cm", "reply", "comment", "threadedComment"})
_TEXTS: Final = frozenset({"t", "text", "author"})
_COPY: Final = "tc="
"""How the author of a copy of a thread is called, with the id of the thread behind it."""
