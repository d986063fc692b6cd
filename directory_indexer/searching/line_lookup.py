"""From what a line must have in it to the words of the index that it must have been indexed with.

Of a text at least its words are known, of a part of a word those of the vocabulary that have it. The words that fewest
chunks have decide; what nearly all chunks have is not looked up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from directory_indexer.docstore.stretches import WordLookup
from directory_indexer.matching.literals import Clause
from directory_indexer.matching.pieces import Piece, piece_rows
from directory_indexer.relevance.analyzer import HeldWords


class Vocabulary(Protocol):
    """What the full-text index knows about its words."""

    @property
    def n_chunks(self) -> int:
        """How many chunks the index holds."""

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each of these words occurs; words that do not occur are left out."""

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        """Give words of the index that begin so, with the number of chunks they occur in."""

    def holding(self, part: str, *, ends: bool, limit: int) -> HeldWords:
        """Give words that have a part, or end with it, with the number of chunks they occur in."""


def plan_lookup(clauses: Iterable[Clause], vocabulary: Vocabulary) -> WordLookup | None:
    """Say which words chunks must have that a line can lie in; None where that would leave out too few of them."""
    ends = _Ends(vocabulary)
    demands = [demand for clause in clauses if (demand := _demand_of(clause, vocabulary, ends))]
    enough = vocabulary.n_chunks * _LARGEST_SHARE
    useful = sorted((one for one in demands if one.n_chunks <= enough), key=lambda one: one.n_chunks)[:_MOST_DEMANDS]
    if not useful:
        return None
    whole = " AND ".join(f"({one.whole})" for one in useful)
    lookup = WordLookup(f"{{text}} : ({whole})", f"{{text}} : ({useful[0].part})")
    return lookup if ends.last_row is None else lookup._replace(last_row=ends.last_row)


class _Demand(NamedTuple):
    """Expressions that find the chunks with a text, and those with the rarest word of it; at most so many chunks."""

    whole: str
    part: str
    n_chunks: int


class _Ends:
    """The words of the vocabulary that a part of a word may belong to, looked up when they are needed."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[Piece, list[tuple[str, int]]] = {}
        self.last_row: int | None = None
        """Up to which chunk the words are known, if not of all."""

    def words_of(self, piece: Piece) -> list[tuple[str, int]]:
        """Give the words that a piece may be, with the number of chunks that have each."""
        if piece not in self._known:
            self._known[piece] = self._found(piece)
        return self._known[piece]

    def _found(self, piece: Piece) -> list[tuple[str, int]]:
        text = piece.text
        if piece.is_word:
            return list(self._vocabulary.counts((text,)).items())
        if piece.begins:
            return self._vocabulary.starting_with(text, limit=_MOST_WORDS + 1)
        found = self._vocabulary.holding(text, ends=piece.ends, limit=_MOST_WORDS + 1)
        if found.last_row is not None:
            self.last_row = min(found.last_row, self.last_row or found.last_row)
        return found.words


def _demand_of(clause: Clause, vocabulary: Vocabulary, ends: _Ends) -> _Demand | None:
    demands = [_demand_of_text(text, vocabulary, ends) for text in sorted({text.lower() for text in clause})]
    if not all(demands):
        return None
    found = [one for one in demands if one is not None and one.n_chunks] or [_NOTHING]
    return _Demand(
        " OR ".join(f"({one.whole})" for one in found),
        " OR ".join(f"({one.part})" for one in found),
        sum(one.n_chunks for one in found),
    )


def _demand_of_text(text: str, vocabulary: Vocabulary, ends: _Ends) -> _Demand | None:
    rows = piece_rows(text)
    words = [piece for row in rows for piece in row if piece.begins]
    known = [one for piece in words if (one := _demand_of_piece(piece, ends)) is not None]
    few = vocabulary.n_chunks * _SMALL_SHARE
    if not any(one.n_chunks <= few for one in known):
        # Of a part of a word it takes a look at all words to know which it may belong to.
        parts = [piece for row in rows for piece in row if not piece.begins and len(piece.text) >= _SHORTEST_PART]
        known += [one for piece in parts if (one := _demand_of_piece(piece, ends)) is not None]
    if not known:
        return None
    rarest = min(known, key=lambda one: one.n_chunks)
    phrases = [phrase for row in rows if (phrase := _phrase(row))]
    return _Demand(" AND ".join([f"({rarest.whole})", *phrases]), rarest.part, rarest.n_chunks)


def _demand_of_piece(piece: Piece, ends: _Ends) -> _Demand | None:
    found = ends.words_of(piece)
    if len(found) > _MOST_WORDS:
        return None
    n_chunks = sum(count for _, count in found)
    if not found:
        return _NOTHING
    words = f"{_quoted(piece.text)} *" if piece.begins and not piece.ends else _any_of(word for word, _ in found)
    return _Demand(words, words, n_chunks)


def _phrase(row: Sequence[Piece]) -> str:
    """Ask for the words of a row that follow each other, without the one that it begins within."""
    known = [piece for piece in row if piece.begins]
    if len(known) <= 1:
        return ""
    return f"{_quoted(' '.join(piece.text for piece in known))}{'' if known[-1].ends else ' *'}"


def _any_of(words: Iterable[str]) -> str:
    return " OR ".join(map(_quoted, words))


def _quoted(words: str) -> str:
    return json.dumps(words, ensure_ascii=False).replace('\\"', '""')


_NO_WORD: Final = '"\U0010fffd"'
_NOTHING: Final = _Demand(_NO_WORD, _NO_WORD, 0)
_LARGEST_SHARE: Final = 0.4
_SMALL_SHARE: Final = 0.01
_MOST_DEMANDS: Final = 3
_MOST_WORDS: Final = 1000
_SHORTEST_PART: Final = 3
