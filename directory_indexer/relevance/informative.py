"""Selection of the most informative words of a long text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from directory_indexer.relevance.analyzer import query_words
from directory_indexer.relevance.forms import Vocabulary
from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.languages import is_filler
from directory_indexer.relevance.query import GRAMS_A_WORD, MAX_WORDS, Query, QueryWord
from directory_indexer.relevance.traces import failure_line


def informative(query: Query, vocabulary: Vocabulary) -> Query:
    """Return a query limited to the words that can be searched for: the rarest, those of its message first."""
    if sum(map(_room, query.words)) <= MAX_WORDS:
        return query
    words = [word for word in query.words if not all(is_filler(token, query.language) for token in word.tokens)]
    counts = vocabulary.counts(sorted(set(chain.from_iterable(word.tokens for word in words))))
    known = [word for word in words if not counts.keys().isdisjoint(word.tokens)]
    rarest = sorted(known or words or query.words, key=lambda word: _n_chunks(word, counts))
    message = frozenset(query_words(failure_line(query.text)))
    preferred = list(_fitting([word for word in rarest if message.issuperset(word.tokens)], MAX_WORDS * _MESSAGE_SHARE))
    room = MAX_WORDS - sum(map(_room, preferred))
    selected = {*preferred, *_fitting([word for word in rarest if word not in preferred], room)}
    return query._replace(words=tuple(word for word in query.words if word in selected))


def _n_chunks(word: QueryWord, counts: dict[str, int]) -> float:
    """Return the number of chunks of the rarest part of a word; numbers do not describe a failure, only its time."""
    return min((counts[token] for token in word.tokens if token in counts and not token.isdigit()), default=math.inf)


def _fitting(words: Sequence[QueryWord], room: float) -> Iterator[QueryWord]:
    for word in words:
        room -= _room(word)
        if room < 0:
            return
        yield word


def _room(word: QueryWord) -> float:
    return sum(1 / GRAMS_A_WORD if is_gram(token) else 1 for token in word.tokens)


_MESSAGE_SHARE: Final = 0.5
