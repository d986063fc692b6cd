"""Matching of a typed query against the name of a file or directory: the whole name, words of it, or parts.

Names are split into words as the index splits texts, so that case, accents and punctuation do not matter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from directory_indexer.ranking.analyzer import (
    extra_words,
    is_gram,
    query_words,
    split_into_words,
    transliterate_umlauts,
)
from directory_indexer.ranking.query import Query, WordKind

MAX_NAME_WORDS: Final = 3
"""Longer queries are questions or words of a text."""


class NameMatch(IntEnum):
    """The part of a name that was typed, the surest first."""

    WHOLE = 1
    STEM = 2
    """All but the extension."""
    WORDS = 3
    BEGINNINGS = 4
    """Words of it, some of which are incomplete."""
    PARTS = 5
    """Letters from within its words."""


class TypedName(NamedTuple):
    """A possible name, in the words of the index.

    If it `is_prefix`, the last word may be incomplete. `unknown` words occur in no text, so that they may be
    prefixes and parts of others.
    """

    text: str
    words: tuple[str, ...]
    is_prefix: bool = False
    unknown: frozenset[str] = frozenset()

    @property
    def is_whole_word(self) -> bool:
        """Whether it matches only as a whole word of a name, being one or two letters without any sign."""
        return (
            self.words == (self.text,)
            and len(self.text) < _MIN_PREFIX_LENGTH
            and self.text.isascii()
            and self.text.isalpha()
        )


def typed_names(query: Query) -> tuple[TypedName, ...]:
    """Return a query as possible names: as typed and, if it has umlauts, with these as two letters, as in Mueller."""
    if query.excluded or query.alternatives or not 0 < len(query.words) <= MAX_NAME_WORDS:
        return ()
    if any(word.kind is WordKind.WILDCARD for word in query.words) or query.text.startswith(_NON_NAME_PREFIXES):
        return ()
    text = query.meaning.strip('" ').casefold()
    typed = TypedName(text, tuple(token for word in query.words for token in word.tokens))
    composed = unicodedata.normalize("NFC", text)
    spelled = transliterate_umlauts(composed)
    if spelled == composed:
        return (typed,)
    tokens = (
        query_words(transliterate_umlauts(unicodedata.normalize("NFC", word.text.casefold()))) for word in query.words
    )
    return (typed, TypedName(spelled, tuple(chain.from_iterable(tokens))))


def name_match(typed: TypedName, name: str, *, is_directory: bool = False) -> NameMatch | None:
    """Return how well a name matches; None if it does not, or only by its extension."""
    if not _may_match(typed, name.casefold()):
        return None
    own = split_into_words(name)
    if typed.text == name.casefold() or typed.words == tuple(own):
        return NameMatch.WHOLE
    if "." in name and not is_directory:
        stem, _, extension = name.rpartition(".")
        if own[:1] == [typed.words[0]] and list(typed.words) in (
            split_into_words(stem),
            split_into_words(name.lstrip(".").partition(".")[0]),
        ):
            return NameMatch.STEM
        if typed.words[0] in own[-1:] and set(typed.words).issubset(
            set(split_into_words(extension)).difference(split_into_words(stem))
        ):
            return None
    if all(word in own for word in typed.words):
        return NameMatch.WORDS
    return _parts_match(typed, name, own)


def _may_match(typed: TypedName, name: str) -> bool:
    """Whether a name in lower case has all of the letters, a check that takes a tenth of the time of splitting it."""
    text = typed.text.rstrip("_") if typed.is_prefix else typed.text
    if not all(part in name for part in text.split() if _VERBATIM.match(part)):
        return False
    if not name.isascii():
        return True
    return _has_in_order(name, typed.words) if _IDENTIFIER.match(text) else all(word in name for word in typed.words)


def _has_in_order(name: str, words: Iterable[str]) -> bool:
    at = 0
    for word in words:
        start = name.find(word, at)
        if start < 0:
            return False
        at = start + len(word)
    return True


def _parts_match(typed: TypedName, name: str, own: Sequence[str]) -> NameMatch | None:
    parts = {*own, *_extra_words_of_name(name)}
    matches = [_word_match(typed, at, parts) for at in range(len(typed.words))]
    if None not in matches:
        return max(match for match in matches if match is not None)
    is_begun = typed.is_prefix and len(typed.text) >= _MIN_PREFIX_LENGTH and name.casefold().startswith(typed.text)
    return NameMatch.BEGINNINGS if is_begun else None


@lru_cache(maxsize=1 << 14)
def _extra_words_of_name(name: str) -> frozenset[str]:
    """Return the words under which a name is found beside its own; asked for at each key that is typed."""
    transliterated = () if name.isascii() else split_into_words(transliterate_umlauts(name.casefold()))
    return frozenset((*extra_words(name), *transliterated))


def _word_match(typed: TypedName, at: int, parts: Iterable[str]) -> NameMatch | None:
    word = typed.words[at]
    if word in parts:
        return NameMatch.WORDS
    rest = min((len(part) - len(word) for part in parts if part.startswith(word)), default=None)
    if rest is not None and _may_be_prefix(typed, at, rest):
        return NameMatch.BEGINNINGS
    if word in typed.unknown and len(word) >= _MIN_PART_LENGTH and any(word in part for part in parts):
        return NameMatch.PARTS
    return None


def _may_be_prefix(typed: TypedName, at: int, rest: int) -> bool:
    """Whether a word may be meant of which so many letters are missing."""
    word = typed.words[at]
    if is_gram(word) or (typed.is_prefix and at > 0 and at == len(typed.words) - 1):
        return True
    if len(word) < _MIN_PREFIX_LENGTH:
        return False
    return rest <= _MAX_ENDING_LENGTH or word in typed.unknown or (typed.is_prefix and at == len(typed.words) - 1)


_NON_NAME_PREFIXES: Final = ("-", "#")
"""Prefixes of options and issue numbers; hardly any name begins with them."""

_VERBATIM: Final = re.compile(r"_|\w+_\Z|\w+\.\w+\Z")
"""A typed part that a name must contain literally: one with an extension, or with an underscore at either end."""

_IDENTIFIER: Final = re.compile(r"\w+_\w+\Z")
"""An identifier in snake case; a name must have its words in the same order."""

_MIN_PREFIX_LENGTH: Final = 3
_MIN_PART_LENGTH: Final = 4
_MAX_ENDING_LENGTH: Final = 2
"""So many more letters are mostly another form of the word, as in `sessions` or `configs`."""
