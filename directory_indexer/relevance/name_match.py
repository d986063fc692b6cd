"""How well what somebody typed names a file or a directory: by all of its name, by words of it, or by parts of those.

Names are cut into words as the index cuts texts, so that case, accents and signs between words do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from directory_indexer.relevance.analyzer import extra_words, transliterated, words
from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.query import Query, WordKind

MOST_WORDS: Final = 3
"""Longer queries are questions, or words of a text."""


class NameMatch(IntEnum):
    """Which part of a name was typed, the surest first."""

    WHOLE = 1
    STEM = 2
    """All but what stands behind a dot."""
    WORDS = 3
    BEGINNINGS = 4
    """Words of it, of which some were typed in part."""
    PARTS = 5
    """Letters from within its words."""


class TypedName(NamedTuple):
    """What may be a name, in the words of the index.

    Of the last word only a part may have been typed, where `is_unfinished`. `unknown` words are in no text, so that
    they may be beginnings and parts of others.
    """

    text: str
    words: tuple[str, ...]
    is_unfinished: bool = False
    unknown: frozenset[str] = frozenset()


def typed_name(query: Query) -> TypedName | None:
    """Read a query as a name; None where it can be none."""
    if query.excluded or query.alternatives or not 0 < len(query.words) <= MOST_WORDS:
        return None
    if any(word.kind is WordKind.WILDCARD for word in query.words):
        return None
    tokens = tuple(token for word in query.words for token in word.tokens)
    return TypedName(query.meaning.strip('" ').casefold(), tokens)


def name_match(typed: TypedName, name: str, *, is_directory: bool = False) -> NameMatch | None:
    """Return how well a name matches; None where it does not, or with nothing but what stands behind its last dot."""
    if not _may_match(typed, name.casefold()):
        return None
    own = words(name)
    if typed.text == name.casefold() or typed.words == tuple(own):
        return NameMatch.WHOLE
    if "." in name and not is_directory:
        stem, _, extension = name.rpartition(".")
        if own[0] == typed.words[0] and list(typed.words) in (words(stem), words(name.lstrip(".").partition(".")[0])):
            return NameMatch.STEM
        if typed.words[0] in own[-1:] and set(typed.words).issubset(set(words(extension)).difference(words(stem))):
            return None
    if all(word in own for word in typed.words):
        return NameMatch.WORDS
    return _parts_match(typed, name, own)


def _may_match(typed: TypedName, name: str) -> bool:
    """Whether a name in lower case has all of the letters, which takes a tenth of the time that its words take."""
    return not name.isascii() or all(word in name for word in typed.words)


def _parts_match(typed: TypedName, name: str, own: Sequence[str]) -> NameMatch | None:
    parts = {*own, *extra_words(name)}
    if not name.isascii():
        parts.update(words(transliterated(name.casefold())))
    matches = [_word_match(typed, at, parts) for at in range(len(typed.words))]
    if None not in matches:
        return max(match for match in matches if match is not None)
    is_begun = typed.is_unfinished and len(typed.text) >= _SHORTEST_BEGINNING and name.casefold().startswith(typed.text)
    return NameMatch.BEGINNINGS if is_begun else None


def _word_match(typed: TypedName, at: int, parts: Iterable[str]) -> NameMatch | None:
    word = typed.words[at]
    if word in parts:
        return NameMatch.WORDS
    rest = min((len(part) - len(word) for part in parts if part.startswith(word)), default=None)
    if rest is not None and _may_be_beginning(typed, at, rest):
        return NameMatch.BEGINNINGS
    if word in typed.unknown and len(word) >= _SHORTEST_PART and any(word in part for part in parts):
        return NameMatch.PARTS
    return None


def _may_be_beginning(typed: TypedName, at: int, rest: int) -> bool:
    """Whether a word of which so many letters are missing may be meant."""
    word = typed.words[at]
    if is_gram(word) or (typed.is_unfinished and at > 0 and at == len(typed.words) - 1):
        return True
    if len(word) < _SHORTEST_BEGINNING:
        return False
    return rest <= _LONGEST_ENDING or word in typed.unknown or (typed.is_unfinished and at == len(typed.words) - 1)


_SHORTEST_BEGINNING: Final = 3
_SHORTEST_PART: Final = 4
_LONGEST_ENDING: Final = 2
"""So many letters more are mostly another form of the word, as in `sessions` or `configs`."""
