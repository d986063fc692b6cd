"""Typing errors: a word that the index does not have gives way to the nearest word that it has.

Only words of a language are touched: never what stands in quotation marks or after an operator, nor names, whose
spelling matters. What was measured stands in docs/ranking.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol

from directory_indexer.relevance.analyzer import other_spellings, query_words
from directory_indexer.relevance.edits import distance, one_edit
from directory_indexer.relevance.forms import Vocabulary, languages_of, with_variants
from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.languages import is_filler
from directory_indexer.relevance.query import Query, QueryWord, WordKind


class SpellingVocabulary(Vocabulary, Protocol):
    """A full-text index that can be asked for words that are spelled alike."""

    def known(self, terms: Sequence[str]) -> set[str]:
        """Tell which of these words occur, which takes less time than to count them."""

    def beginning_with(
        self, prefixes: Sequence[str], *, letters: tuple[int, int], holding: Sequence[str] = (), limit: int
    ) -> list[tuple[str, int]]:
        """Give words that begin with any of these and have so many letters, with the number of chunks they occur in.

        Where `holding` is given, each word has one of its parts.
        """


class Correction(NamedTuple):
    """A word as it was typed, and the word of the index that was looked for instead."""

    typed: str
    searched: str

    @property
    def note(self) -> str:
        """Tell it to whoever asked."""
        if self.searched == within(self.typed):
            return f"no word is {self.typed}; searched for words that it is part of"
        return f'searched for {self.searched} instead of {self.typed}; write "{self.typed}" to search for that'


class Respelled(NamedTuple):
    """A query in words that the index has, as far as typing errors explain what it does not have."""

    query: Query
    corrections: tuple[Correction, ...] = ()


def respelled(query: Query, vocabulary: SpellingVocabulary) -> Respelled:
    """Correct the words of a query that the index has in no form, in what is looked for and in what is embedded."""
    query, parts = _with_parts(query, vocabulary)
    doubtful = _doubtful(query)
    if not doubtful:
        return Respelled(query, parts)
    unknown = islice(_unknown(query, doubtful, vocabulary), _MOST)
    found = {token: nearest for token in unknown if (nearest := _nearest(token, vocabulary))}
    return Respelled(_with_corrected(query, found), (*parts, *_corrections(doubtful, found)))


def within(word: str) -> str:
    """Return what finds the words that a word is part of."""
    return f"*{word}*"


def _with_parts(query: Query, vocabulary: SpellingVocabulary) -> tuple[Query, tuple[Correction, ...]]:
    """Look for words that the index does not have in any form inside the words that it has.

    To go through all words takes time, and a sentence is found by its other words.
    """
    if query.is_question or len(query.words) > _MOST_WORDS:
        return query, ()
    single = {word.tokens[0]: word for word in query.words if _may_be_part(word, query)}
    missing = single.keys() - vocabulary.known(tuple(single)) if single else ()
    languages = languages_of(query, vocabulary) if missing else ()
    parts = [
        token
        for token in islice((token for token in single if token in missing), _MOST)
        if not vocabulary.known(other_spellings(single[token].text))
        and not with_variants(token, languages, vocabulary).term.n_chunks
        and _is_part(token, vocabulary)
    ]
    words = tuple(
        word._replace(text=within(token), kind=WordKind.WILDCARD) if (token := word.tokens[0]) in parts else word
        for word in query.words
    )
    corrections = tuple(Correction(single[token].text, within(single[token].text)) for token in parts)
    return query._replace(words=words), corrections


def _is_part(token: str, vocabulary: SpellingVocabulary) -> bool:
    """Whether words have a word in them; one with a single letter more is what an error was made in."""
    held = vocabulary.holding(token, ends=False, limit=_MOST_HELD).words
    return any(len(word) > len(token) + token.isalpha() for word, _ in held)


def _may_be_part(word: QueryWord, query: Query) -> bool:
    """Whether a word may be part of another: one of a few letters is in too many by accident."""
    token, *others = word.tokens
    is_long = len(token) >= (_SHORTEST_NUMBER if token.isdigit() else _SHORTEST_PART)
    is_plain = word.kind is WordKind.PLAIN and not others and not is_gram(token)
    return is_plain and is_long and not is_filler(token, query.language)


def _with_corrected(query: Query, found: dict[str, str]) -> Query:
    return query._replace(
        words=tuple(_corrected(word, found) for word in query.words),
        meaning=re.sub(_RUN, lambda run: _replacement(run[0], found), query.meaning),
        alternatives=tuple(tuple(_with_corrected(one, found) for one in group) for group in query.alternatives),
    )


def _doubtful(query: Query) -> dict[str, str]:
    """Give the words that may hold typing errors, in the spelling of the index, with what was typed."""
    exact = {token for word in query.words if word.kind is not WordKind.PLAIN for token in word.tokens}
    return {
        token: word.text
        for word in query.words
        if not word.is_name
        for token in word.tokens
        if len(token) >= _SHORTEST and token.isalpha() and token not in exact and not is_filler(token, query.language)
    }


def _unknown(query: Query, doubtful: dict[str, str], vocabulary: SpellingVocabulary) -> Iterator[str]:
    """Find the words that the index has neither in this nor in another form."""
    missing = doubtful.keys() - vocabulary.known(tuple(doubtful))
    languages = languages_of(query, vocabulary) if missing else ()
    for token in (token for token in doubtful if token in missing):
        if (
            not vocabulary.known(other_spellings(doubtful[token]))
            and not with_variants(token, languages, vocabulary).term.n_chunks
        ):
            yield token


def _nearest(word: str, vocabulary: SpellingVocabulary) -> str | None:
    """Find the word with the fewest errors, of these one with letters swapped, of these the most frequent."""
    alike = _alike_long(word, vocabulary) if len(word) >= _LONG else _alike_short(word, vocabulary)
    most = _FAR if len(word) >= _LONG else 1
    ranked = [
        (n_errors, near[0] != word[0], sorted(near) != sorted(word), -n_chunks, near)
        for near, n_chunks in alike.items()
        if (n_errors := distance(word, near, most=most)) and near.isalpha()
    ]
    return min(ranked)[-1] if ranked else None


def _alike_short(word: str, vocabulary: SpellingVocabulary) -> dict[str, int]:
    """Find words one error away, other than another first letter: harming is not meant for warming."""
    edited = one_edit(word, _alphabet_of(word))
    return vocabulary.counts(sorted(near for near in edited if near[0] == word[0] or _begins_askew(word, near)))


def _begins_askew(word: str, near: str) -> bool:
    """Tell whether the first two letters are swapped, or the first is missing or too much."""
    return near[:2] == word[1::-1] or (len(word) > _SHORTEST and word in (near[1:], word[0] + near))


def _alike_long(word: str, vocabulary: SpellingVocabulary) -> dict[str, int]:
    """Find words two errors away at most, one of them in the first letters."""
    size = min((len(word) + 1) // 2, _FIRST)
    first, rest = word[:size], word[size:]
    others = {edited[:size] for edited in one_edit(word[: size + 1], _alphabet_of(word))} - {first}
    letters = (len(word) - _FAR, len(word) + _FAR)
    middle = (len(rest) + 1) // 2
    halves = (rest[:middle], rest[middle:])
    return {
        **dict(vocabulary.beginning_with((first,), letters=letters, limit=_MOST_ALIKE)),
        **dict(vocabulary.beginning_with(sorted(others), letters=letters, holding=halves, limit=_MOST_ALIKE)),
    }


def _alphabet_of(word: str) -> str:
    return next((letters for letters in _ALPHABETS if word[0] in letters), "")


def _corrected(word: QueryWord, found: dict[str, str]) -> QueryWord:
    if word.kind is not WordKind.PLAIN or found.keys().isdisjoint(word.tokens):
        return word
    text = re.sub(_RUN, lambda run: _replacement(run[0], found), word.text)
    return word._replace(text=text, tokens=tuple(found.get(token, token) for token in word.tokens))


def _replacement(run: str, found: dict[str, str]) -> str:
    tokens = query_words(run)
    return found.get(tokens[0], run) if len(tokens) == 1 else run


def _corrections(doubtful: dict[str, str], found: dict[str, str]) -> Iterator[Correction]:
    for token, searched in found.items():
        runs: Iterable[str] = re.findall(_RUN, doubtful[token])
        yield Correction(next((run for run in runs if query_words(run) == [token]), token), searched)


_MOST_WORDS: Final = 6
_MOST_HELD: Final = 100
_SHORTEST_PART: Final = 4
_SHORTEST_NUMBER: Final = 3
_SHORTEST: Final = 5
_LONG: Final = 8
_FAR: Final = 2
"""How many letters a word needs to be corrected, and how many for two errors; so many may be in a long word."""

_FIRST: Final = 5
"""In so many letters one of two errors is looked for: in a million words, 0.1 ms for what begins alike."""

_MOST: Final = 3
"""Where more words are unknown, the query is in another language, or about something else."""

_MOST_ALIKE: Final = 2000
# A text, which `re` compiles when it is first used: most queries have no typing error.
_RUN: Final = r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*"
_ALPHABETS: Final = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґў",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
    "ابةتثجحخدذرزسشصضطظعغفقكلمنهوي",
)
