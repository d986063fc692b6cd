"""Queries whose last word is still being typed: whole words first, then all words that begin so.

Of each file one passage is shown, so that a file stays in the list from key to key.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from directory_indexer.docstore.store import Snapshot
from directory_indexer.ids import ChunkId
from directory_indexer.relevance.analyzer import query_words
from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.query import Query, filter_in, parse_query
from directory_indexer.searching.fusing import Answer
from directory_indexer.searching.inquiry import Asking, Lists

MOST_BEGINNINGS: Final = 20
"""So many files are shown that were found by the beginning of a word, in names and in texts together."""

LEAST_BEGINNINGS: Final = 5
NOTHING: Final = Answer((), is_weak=True)
_DEPTH: Final = 400
"""So many passages are looked at for one of each file."""


class Unfinished(NamedTuple):
    """A query whose last word stands for all that begin so; each hit must match `required`, if it is not empty.

    With `is_word` the last word is one of the index as it stands, or too short to tell.
    """

    query: Query
    required: str = ""
    is_word: bool = True


def unfinished(snapshot: Snapshot, text: str) -> Unfinished | None:
    """Read a query that is being typed; None where its last word is none, or begins no word of the index."""
    piece = re.search(_LAST_PIECE, text)[0]  # type: ignore[index]  # which may be empty
    found = re.search(_LAST_WORD, piece)
    if not found or filter_in(piece) or piece.startswith("-") or is_gram(found[0]):
        return None
    before = text[: len(text) - len(found[0])]
    if len(found[0]) < _SHORTEST:
        query = parse_query(before)
        return None if query.is_empty else Unfinished(query)
    tokens = query_words(found[0])
    if len(tokens) != 1 or not snapshot.words.starting_with(tokens[0], limit=1):
        return None
    is_word = bool(snapshot.words.known(tokens))
    return Unfinished(parse_query(f"{before} {found[0]}*"), f'"{tokens[0]}" *', is_word)


def requiring(plan: MatchPlan, expression: str, *, is_ranked_by_words: bool) -> MatchPlan:
    """Let each hit of a plan match one more FTS5 expression, if that is not empty.

    Where `is_ranked_by_words`, all candidates come from FTS5, and need not be looked at once more.
    """
    if not expression:
        return plan
    return plan._replace(
        expression=f"({plan.expression}) AND ({expression})" if plan.expression else expression,
        required=plan.required if is_ranked_by_words else (*plan.required, expression),
        narrow=None,
        rare=None,
        together=None,
        named=None,
        exact=(),
    )


class OneAFile:
    """Candidates by words of which each file has one, so that many passages of a file hide no other.

    Files that are shown anyway are left out.
    """

    def __init__(self, asking: Asking, snapshot: Snapshot, *, without: frozenset[int]) -> None:
        self._asking = asking
        self._snapshot = snapshot
        self._without = without

    def lists(self, depth: int) -> Lists:
        """Return the best candidate of each file."""
        lists = self._asking.lists(max(depth, _DEPTH))
        holders = self._snapshot.chunks.holders_of(lists.by_words)
        best: dict[object, ChunkId] = {}
        for chunk_id in lists.by_words:
            best.setdefault(holders.get(chunk_id, chunk_id), chunk_id)
        others = (chunk_id for holder, chunk_id in best.items() if holder not in self._without)
        return lists._replace(by_words={one: lists.by_words[one] for one in islice(others, depth)})


def are_enough(snapshot: Snapshot, whole: Answer, beginnings: Unfinished, *, room: int) -> bool:
    """Whether whole words fill half of an answer, and too many files have words that begin so to show all of them."""
    return (
        2 * len(whole.passages) >= room
        and bool(beginnings.required)
        and snapshot.words.are_in_files(beginnings.required, MOST_BEGINNINGS)
    )


def with_beginnings(whole: Answer, begun: Answer, *, room: int) -> Answer:
    """Put words that only begin so behind whole words, with room for both."""
    seen = {one.chunk.path for one in whole.passages[: max(room - len(begun.passages), 0)]}
    more = [one for one in begun.passages if one.chunk.path not in seen]
    first = whole.passages[: max(room - len(more), 0)]
    least = first[-1].ranked.score if first else 1.0
    behind = (one._replace(ranked=one.ranked._replace(score=min(one.ranked.score, least))) for one in more)
    return whole._replace(passages=(*first, *behind), is_weak=whole.is_weak and not begun.passages)


_SHORTEST: Final = 3
"""Fewer letters begin too many words."""

_LAST_PIECE: Final = r'[^\s"]*\Z'
_LAST_WORD: Final = r"[^\W_]+\Z"
