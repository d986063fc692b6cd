"""Correction of typing errors: a word that the index does not have is replaced by the nearest one that it has.

Only words of a language are corrected: never text in quotation marks or after an operator, nor names, whose spelling
matters. Measurements are in docs/ranking-results.md.

An error is a letter deleted, inserted, replaced, or swapped with the next.
"""

from __future__ import annotations

import os.path
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple, Protocol

from directory_indexer.ranking.analyzer import is_gram, other_spellings, query_words
from directory_indexer.ranking.languages import is_function_word
from directory_indexer.ranking.query import Query, QueryWord, WordKind
from directory_indexer.ranking.word_forms import Vocabulary, languages_to_stem, plan_inflected_term


class SpellingVocabulary(Vocabulary, Protocol):
    """A vocabulary that finds words with a similar spelling."""

    def known(self, terms: Sequence[str]) -> set[str]:
        """Return which of these words occur, which is faster than counting them."""

    def beginning_with(
        self, prefixes: Sequence[str], *, letters: tuple[int, int], containing: Sequence[str] = (), limit: int
    ) -> list[tuple[str, int]]:
        """Return words with any of these prefixes and so many letters, with the number of chunks of each.

        If `containing` is set, each word contains one of its parts.
        """

    def count(self, expression: str) -> int:
        """Return the number of chunks that match an FTS5 expression."""


class Correction(NamedTuple):
    """A word as it was typed, and the word of the index that was searched for instead."""

    typed: str
    searched: str

    @property
    def note(self) -> str:
        """The note that tells the user about it."""
        if self.searched == wildcard_around(self.typed):
            return f"no text has the word {self.typed}; searched for words that contain it"
        if "*" in self.searched:
            return f"no text has the word {self.typed}; searched for {self.searched}"
        return f'searched for {self.searched} instead of {self.typed}; write "{self.typed}" to search for that'


class CorrectedQuery(NamedTuple):
    """A query in words of the index, as far as its other words are typing errors."""

    query: Query
    corrections: tuple[Correction, ...] = ()


def correct_spelling(
    query: Query, vocabulary: SpellingVocabulary, *, are_different: Callable[[str, str], bool]
) -> CorrectedQuery:
    """Correct the words of a query that the index has in no form, both for keyword and semantic search.

    `are_different` returns whether a word is known and means something else: `sweep` is no error for `sleep`.
    """
    query, doubled = _double_letters(query, vocabulary, are_different)
    query, parts = _search_as_parts(query, vocabulary)
    parts = (*doubled, *parts)
    doubtful = _doubtful_words(query, lengths=range(_MIN_LENGTH, sys.maxsize))
    if not doubtful:
        return CorrectedQuery(query, parts)
    unknown = tuple(islice(_unknown_words(query, doubtful, vocabulary), _MAX_CORRECTIONS))
    corrected = {
        token: nearest
        for token in unknown
        if (nearest := nearest_word(token, vocabulary)) and not are_different(token, nearest)
    }
    query = _with_corrected(query, corrected)
    compounds = tuple(token for token in unknown if token not in corrected)
    query, halves = _search_by_halves(query, compounds, vocabulary)
    return CorrectedQuery(query, (*parts, *_corrections(doubtful, corrected), *halves))


def _double_letters(
    query: Query, vocabulary: SpellingVocabulary, are_different: Callable[[str, str], bool]
) -> tuple[Query, tuple[Correction, ...]]:
    """Correct short words that lack the second of two equal letters: of four letters, other errors are guesses."""
    doubtful = _doubtful_words(query, lengths=range(_MIN_PART_LENGTH, _MIN_LENGTH))
    corrected: dict[str, str] = {}
    for token in _unknown_words(query, doubtful, vocabulary):
        words = vocabulary.known([token[:at] + token[at - 1] + token[at:] for at in range(1, len(token) + 1)])
        if near := min(words, key=lambda word: (-vocabulary.count(f'"{word}"'), word), default=""):
            corrected |= {} if are_different(token, near) else {token: near}
    return _with_corrected(query, corrected), tuple(_corrections(doubtful, corrected))


def wildcard_around(word: str) -> str:
    """Return the wildcard for words that contain a word."""
    return f"*{word}*"


def _search_as_parts(query: Query, vocabulary: SpellingVocabulary) -> tuple[Query, tuple[Correction, ...]]:
    """Replace words that the index has in no form by wildcards for the words that contain them.

    Other words of the query count as found in these, too: `Auszug Plan` names a Fahrplanauszug, though a text has a
    plan. Scanning all words takes time, and a sentence is found by its other words.
    """
    if _is_sentence(query):
        return query, ()
    single = {word.tokens[0]: word for word in query.words if _may_be_part(word, query)}
    missing = single.keys() - vocabulary.known(tuple(single)) if single else ()
    languages = languages_to_stem(query, vocabulary) if missing else ()
    unknown = [
        token
        for token in islice((token for token in single if token in missing), _MAX_CORRECTIONS)
        if not vocabulary.known(other_spellings(single[token].text))
        and not plan_inflected_term(token, languages, vocabulary).term.n_chunks
    ]
    containing = {token: longer for token in unknown if (longer := _words_with(token, vocabulary))}
    compounds = tuple(dict.fromkeys(chain.from_iterable(containing.values())))
    searched = {
        token: word._replace(text=wildcard_around(token), kind=WordKind.WILDCARD)
        if token in containing
        else word._replace(compounds=tuple(compound for compound in compounds if token in compound)[:_MAX_COMPOUNDS])
        for token, word in single.items()
    }
    words = tuple(searched[word.tokens[0]] if word in single.values() else word for word in query.words)
    corrections = (Correction(single[token].text, wildcard_around(single[token].text)) for token in containing)
    return query._replace(words=words), tuple(corrections)


def _is_sentence(query: Query) -> bool:
    return query.is_question or len(query.words) > _MAX_WORDS


def _words_with(token: str, vocabulary: SpellingVocabulary) -> tuple[str, ...]:
    """Return the words that contain a word; none if all are only one letter longer, as a typing error is likelier."""
    held = vocabulary.containing(token, ends=False, limit=_MAX_CONTAINING).words
    words = tuple(word for word, _ in held)
    return words if any(len(word) > len(token) + token.isalpha() for word in words) else ()


def _search_by_halves(
    query: Query, tokens: Sequence[str], vocabulary: SpellingVocabulary
) -> tuple[Query, tuple[Correction, ...]]:
    """Replace compounds that no text has by wildcards for the words that contain a half of them.

    Only languages that write compounds as one word have them.
    """
    if not tokens or _is_sentence(query) or _COMPOUNDING.isdisjoint(vocabulary.languages):
        return query, ()
    words: list[QueryWord] = []
    corrections: list[Correction] = []
    for word in query.words:
        is_compound = word.kind is WordKind.PLAIN and word.tokens[0] in tokens and len(word.tokens) == 1
        wildcards = tuple(map(wildcard_around, _halves_of_compound(word.tokens[0], vocabulary) if is_compound else ()))
        words += [word._replace(text=text, kind=WordKind.WILDCARD) for text in wildcards] or [word]
        corrections += [Correction(word.text, " ".join(wildcards))] if wildcards else []
    return query._replace(words=tuple(words)), tuple(corrections)


def _halves_of_compound(token: str, vocabulary: SpellingVocabulary) -> tuple[str, ...]:
    """Return the halves of a compound: words of the index are or end with both, near each other in a text.

    Of a second half that is a word, the first may also begin words. Splits into two words are tried first.
    """
    if not 2 * _MIN_PART_LENGTH <= len(token) <= _MAX_COMPOUND_LENGTH:
        return ()
    pairs = [(token[:at], token[at:]) for at in range(_MIN_PART_LENGTH, len(token) - _MIN_PART_LENGTH + 1)]
    known = vocabulary.known(tuple(chain.from_iterable(pairs)))
    pairs.sort(key=lambda pair: (-len(known & {*pair}), abs(len(pair[0]) - len(pair[1]))))
    for first, second in pairs[:_MAX_SPLITS]:
        begins = second in known and bool(vocabulary.starting_with(first, limit=1))
        if (second in known or _ends_words(second, vocabulary)) and (
            first in known or begins or _ends_words(first, vocabulary)
        ):
            return (first, second) if _are_near(first, second, vocabulary) else ()
    return ()


def _are_near(first: str, second: str, vocabulary: SpellingVocabulary) -> bool:
    """Whether a text has words with two parts near each other: anywhere in it, two common parts stand by chance."""
    forms = [
        [word for word, _ in vocabulary.containing(part, ends=False, limit=_MAX_COMPOUNDS).words]
        for part in (first, second)
    ]
    pairs = [f'NEAR("{left}" "{right}", {_NEAR_WORDS})' for left in forms[0] for right in forms[1]]
    return bool(pairs) and vocabulary.count(" OR ".join(pairs)) > 0


def _ends_words(part: str, vocabulary: SpellingVocabulary) -> bool:
    return bool(vocabulary.containing(part, ends=True, limit=1).words)


def _may_be_part(word: QueryWord, query: Query) -> bool:
    """Whether a word may be part of another; a few letters are in too many by chance."""
    token, *others = word.tokens
    is_long = len(token) >= (_MIN_NUMBER_LENGTH if token.isdigit() else _MIN_PART_LENGTH)
    is_plain = word.kind is WordKind.PLAIN and not others and not is_gram(token)
    return is_plain and is_long and not is_function_word(token, query.language)


def _with_corrected(query: Query, corrected: dict[str, str]) -> Query:
    return query._replace(
        words=tuple(_correct_word(word, corrected) for word in query.words),
        meaning=re.sub(_RUN, lambda run: _replace_in_run(run[0], corrected), query.meaning),
        alternatives=tuple(
            tuple(_with_corrected(branch, corrected) for branch in group) for group in query.alternatives
        ),
    )


def _doubtful_words(query: Query, *, lengths: range) -> dict[str, str]:
    """Return the words that may contain typing errors, in the spelling of the index, with what was typed."""
    exact = {token for word in query.words if word.kind is not WordKind.PLAIN for token in word.tokens}
    return {
        token: word.text
        for word in query.words
        if not word.is_name
        for token in word.tokens
        if len(token) in lengths
        and token.isalpha()
        and token not in exact
        and not is_function_word(token, query.language)
    }


def _unknown_words(query: Query, doubtful: dict[str, str], vocabulary: SpellingVocabulary) -> Iterator[str]:
    """Yield the words that the index has neither in this nor in another form."""
    missing = doubtful.keys() - vocabulary.known(tuple(doubtful))
    languages = languages_to_stem(query, vocabulary) if missing else ()
    for token in (token for token in doubtful if token in missing):
        if (
            not vocabulary.known(other_spellings(doubtful[token]))
            and not plan_inflected_term(token, languages, vocabulary).term.n_chunks
        ):
            yield token


def may_be_misspelt(word: str) -> bool:
    """Whether a word consists of letters, and of enough of them."""
    return len(word) >= _MIN_LENGTH and word.isalpha()


def max_errors(word: str) -> int:
    """Return the number of errors that a word of this length may have."""
    return _MAX_ERRORS if len(word) >= _MIN_LENGTH_OF_TWO_ERRORS else 1


def nearest_word(word: str, vocabulary: SpellingVocabulary) -> str | None:
    """Return the word with the fewest errors; among these, one with swapped letters, then the most frequent."""
    alike = (
        _similar_long(word, vocabulary) if len(word) >= _MIN_LENGTH_OF_TWO_ERRORS else _similar_short(word, vocabulary)
    )
    most = max_errors(word)
    ranked = [
        (n_errors, near[0] != word[0], sorted(near) != sorted(word), -n_chunks, near)
        for near, n_chunks in alike.items()
        if (n_errors := _count_errors(word, near, most=most)) and near.isalpha()
    ]
    return min(ranked)[-1] if ranked else None


def _count_errors(word: str, near: str, *, most: int) -> int | None:
    """Return the number of errors between two words; None if it is more than `most`.

    Letters of a long word that sound alike are one error together: Bahnkarte, Bahncard.
    """
    n_errors = edit_distance(word, near, most=most)
    if n_errors is not None or most < _MAX_ERRORS:
        return n_errors
    is_alike = edit_distance(_by_sound(word), _by_sound(near), most=1) is not None
    return _MAX_ERRORS if is_alike else None


def _by_sound(word: str) -> str:
    for letters, sound in _SOUNDS:
        word = word.replace(letters, sound)
    return re.sub("d$", "t", word)


def _similar_short(word: str, vocabulary: SpellingVocabulary) -> dict[str, int]:
    """Return words one error away, except with another first letter: harming is not meant for warming."""
    edited = words_one_edit_away(word, _alphabet_of(word))
    return vocabulary.counts(sorted(near for near in edited if near[0] == word[0] or _has_error_at_start(word, near)))


def _has_error_at_start(word: str, near: str) -> bool:
    """Whether the first two letters are swapped, or the first is missing or superfluous."""
    return near[:2] == word[1::-1] or (len(word) > _MIN_LENGTH and word in (near[1:], word[0] + near))


def _similar_long(word: str, vocabulary: SpellingVocabulary) -> dict[str, int]:
    """Return words at most two errors away, one of them in the first letters."""
    size = min((len(word) + 1) // 2, _ERROR_PREFIX_LENGTH)
    first, rest = word[:size], word[size:]
    others = {edited[:size] for edited in words_one_edit_away(word[: size + 1], _alphabet_of(word))} - {first}
    letters = (len(word) - _MAX_ERRORS, len(word) + _MAX_ERRORS)
    middle = (len(rest) + 1) // 2
    halves = (rest[:middle], rest[middle:])
    return {
        **dict(vocabulary.beginning_with((first,), letters=letters, limit=_MAX_SIMILAR)),
        **dict(vocabulary.beginning_with(sorted(others), letters=letters, containing=halves, limit=_MAX_SIMILAR)),
    }


def _alphabet_of(word: str) -> str:
    return next((letters for letters in _ALPHABETS if word[0] in letters), "")


def _correct_word(word: QueryWord, corrected: dict[str, str]) -> QueryWord:
    if word.kind is not WordKind.PLAIN or corrected.keys().isdisjoint(word.tokens):
        return word
    text = re.sub(_RUN, lambda run: _replace_in_run(run[0], corrected), word.text)
    return word._replace(text=text, tokens=tuple(corrected.get(token, token) for token in word.tokens))


def _replace_in_run(run: str, corrected: dict[str, str]) -> str:
    tokens = query_words(run)
    return corrected.get(tokens[0], run) if len(tokens) == 1 else run


def _corrections(doubtful: dict[str, str], corrected: dict[str, str]) -> Iterator[Correction]:
    for token, searched in corrected.items():
        runs: Iterable[str] = re.findall(_RUN, doubtful[token])
        yield Correction(next((run for run in runs if query_words(run) == [token]), token), searched)


_MAX_WORDS: Final = 6
_MAX_CONTAINING: Final = 100
_MIN_PART_LENGTH: Final = 4
_MIN_NUMBER_LENGTH: Final = 3
_MIN_LENGTH: Final = 5
_MIN_LENGTH_OF_TWO_ERRORS: Final = 8
_MAX_ERRORS: Final = 2
"""The letters that a word needs for a correction, and for one of two errors, which is the maximum in a long word."""

_ERROR_PREFIX_LENGTH: Final = 5
"""One of two errors must be in so many first letters: in a million words, a prefix takes 0.1 ms to find."""

_SOUNDS: Final = (("ph", "f"), ("th", "t"), ("dt", "t"), ("ck", "k"), ("c", "k"))
"""Letters that sound alike in the languages of Latin letters, and one that stands for them."""

_COMPOUNDING: Final = frozenset("de nl sv da no nb nn fi is".split())
"""Languages, by tag, that write a compound as one word."""

_MAX_COMPOUND_LENGTH: Final = 40
_MAX_SPLITS: Final = 6
"""Each takes one or two scans of all words, which take 8 ms for a million words."""

_MAX_COMPOUNDS: Final = 12
_NEAR_WORDS: Final = 8

_MAX_CORRECTIONS: Final = 3
"""If more words are unknown, the query is in another language, or about something else."""

_MAX_SIMILAR: Final = 2000
# A string, which `re` compiles on first use: most queries have no typing error.
_RUN: Final = r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*"
_ALPHABETS: Final = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґў",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
    "ابةتثجحخدذرزسشصضطظعغفقكلمنهوي",
)


def words_one_edit_away(word: str, alphabet: str) -> set[str]:
    """Return all words that are one edit away, with the letters of an alphabet."""
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    shorter = {left + right[1:] for left, right in splits if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1}
    replaced = {left + letter + right[1:] for left, right in splits if right for letter in alphabet}
    longer = {left + letter + right for left, right in splits for letter in alphabet}
    return (shorter | swapped | replaced | longer) - {word}


def edit_distance(first: str, second: str, *, most: int) -> int | None:
    """Return the number of edits between two words; None if it is more than `most`.

    This is the optimal string alignment distance: no letter is edited twice.
    """
    # Replacing a letter changes at most two of the letters that occur at all.
    if abs(len(first) - len(second)) > most or len({*first} ^ {*second}) > 2 * most:
        return None
    start = len(os.path.commonprefix((first, second)))
    first, second = first[start:], second[start:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    if not first or not second:
        n_edits = len(first) + len(second)
        return n_edits if n_edits <= most else None
    if most == 0:
        return None
    rests = [(first[1:], second[1:]), (first[1:], second), (first, second[1:])]
    if first[:2] == second[1::-1]:
        rests.append((first[2:], second[2:]))
    further = [n for rest in rests if (n := edit_distance(*rest, most=most - 1)) is not None]
    return 1 + min(further) if further else None
