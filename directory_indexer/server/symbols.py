"""Answers of `symbol` and `locate`: lines of text within a budget, and the next call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from directory_indexer.api.symbols import LocateAnswer, SymbolAnswer, locate_answer, symbol_answer
from directory_indexer.core.paths import FilePath
from directory_indexer.search.locating import Located
from directory_indexer.search.symbols import find_symbol, symbol_request
from directory_indexer.server.mcp.arguments import ArgumentError, SymbolArguments
from directory_indexer.server.mcp.budget import cost, most_that_fit
from directory_indexer.server.mcp.schemas import object_for_models
from directory_indexer.server.mcp.text import one_line
from directory_indexer.storage.documents.store import Snapshot
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.symbols import located_lines, symbol_lines

_READ_NEXT = "Next: get_content(path, start_line, end_line) reads one of these places.\n"
_NOWHERE = "The name stands nowhere in what is indexed. Next: search for what it does.\n"
_NOTHING = "Nothing in the index speaks for a place. Next: search with other words.\n"
_STEP = 20
_LEAST_ROOM = 0


def symbol_within_budget(
    snapshot: Snapshot, call: SymbolArguments, scope: tuple[FilePath, ...], notes: Iterable[str]
) -> SymbolAnswer:
    """Return the answer on a name, as much of it as fits.

    Raises:
        UsageError: the call has no valid name.
        ArgumentError: not even a definition fits.
    """
    symbol = find_symbol(snapshot, symbol_request(call.name, scope=scope, depth=call.levels))
    whole = symbol_answer(symbol, notes=notes)
    for room in range(call.max_tokens, _LEAST_ROOM, -_STEP):
        text = plain(symbol_lines(symbol, paths=PathStyle(), max_tokens=room))
        answer = whole._replace(answer=text + _READ_NEXT if symbol.is_any else _NOWHERE)
        if cost(object_for_models(answer)) <= call.max_tokens and cost(answer_text(answer)) <= call.max_tokens:
            return answer
    raise ArgumentError("max_tokens is too small for the definitions; repeat the call with more")


def located_within_budget(located: Located, notes: Iterable[str], *, max_tokens: int) -> LocateAnswer:
    """Return the places to read, as many as fit."""
    whole = locate_answer(located, notes=notes)
    lines = plain(located_lines(located, paths=PathStyle())).splitlines(keepends=True)
    n_lines = most_that_fit(len(lines), lambda n: _fits(_with_lines(whole, lines[:n]), max_tokens))
    return _with_lines(whole, lines[:n_lines])


def answer_text(answer: SymbolAnswer | LocateAnswer) -> str:
    """Return an answer as text that is complete by itself."""
    return "".join((answer.answer or "", *(f"Note: {one_line(note)}\n" for note in answer.notes)))


def _with_lines(whole: LocateAnswer, lines: Sequence[str]) -> LocateAnswer:
    return whole._replace(answer="".join((*lines, _READ_NEXT if lines else _NOTHING)))


def _fits(answer: LocateAnswer, max_tokens: int) -> bool:
    return cost(object_for_models(answer)) <= max_tokens and cost(answer_text(answer)) <= max_tokens
