"""Answers of the tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from directory_indexer.server.links import Link
from directory_indexer.wire.documents import ConvertedText, TextAnswer
from directory_indexer.wire.grep import GrepAnswer
from directory_indexer.wire.hits import PlainAnswer, SearchAnswer
from directory_indexer.wire.outlines import OutlineAnswer
from directory_indexer.wire.runs import Run
from directory_indexer.wire.server import ServerAnswer
from directory_indexer.wire.symbols import LocateAnswer, SymbolAnswer

Result: TypeAlias = (
    SearchAnswer
    | PlainAnswer
    | GrepAnswer
    | TextAnswer
    | OutlineAnswer
    | SymbolAnswer
    | LocateAnswer
    | ConvertedText
    | Run
    | ServerAnswer
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool, as text and as a record with the same content."""

    text: str
    result: Result
    links: tuple[Link, ...] = ()
