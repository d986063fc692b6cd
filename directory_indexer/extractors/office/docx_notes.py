"""Footnotes, endnotes and comments of Word documents, which are in parts of their own."""

from __future__ import annotations

from typing import Final, TypeAlias

from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml

NoteKey: TypeAlias = tuple[str, str]
"""`footnote`, `endnote` or `comment`, and the number by which the text refers to it."""


def read_notes(package: Package, parts: dict[str, str]) -> dict[NoteKey, str]:
    """Return the notes of a document, each on one line; a comment begins with its author."""
    notes = _Notes()
    for role, usual in _PARTS.items():
        read_xml(package.pieces(parts.get(role, usual)), notes, skipped=_SKIPPED)
    return {key: text for key, text in notes.by_key.items() if text}


class _Notes:
    def __init__(self) -> None:
        self.by_key: dict[NoteKey, str] = {}
        self._key: NoteKey | None = None
        self._pieces: list[str] = []
        self._is_text = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _ROLES:
            # Word stores the separator lines between text and notes as notes, too.
            self._key = (name, attributes.get("id", "")) if attributes.get("type", "normal") == "normal" else None
            author = attributes.get("author", "")
            self._pieces = [f"{author}: "] if author and name == "comment" else []
        elif name == "t":
            self._is_text = True
        elif name in _BREAKS:
            self._pieces.append(" ")

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif name in _ROLES and self._key:
            self.by_key[self._key] = " ".join("".join(self._pieces).split())


_PARTS: Final = {"footnotes": "word/footnotes.xml", "endnotes": "word/endnotes.xml", "comments": "word/comments.xml"}
_ROLES: Final = frozenset({"footnote", "endnote", "comment"})
_BREAKS: Final = frozenset({"p", "tab", "br", "cr", "tc"})
_SKIPPED: Final = frozenset("del moveFrom delText instrText delInstrText Fallback rt tabs".split())
