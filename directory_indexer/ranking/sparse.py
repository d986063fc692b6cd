"""Sparse vectors of passages and queries, whose product with inverse document frequencies is BM25.

Each word occurs twice in a passage: as it is written, and by its stem, which all of its forms share. A query weighs
both, as a word in another form counts less than the typed one.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from directory_indexer.ranking.analyzer import FTS_WEIGHTS, index_fields, split_into_words
from directory_indexer.ranking.languages import NAMES
from directory_indexer.ranking.word_forms import Term, stem_of

SPARSE_VERSION: Final = 2
"""Changes whenever the same words yield other values: vectors of different versions cannot be compared."""


class SparseVector(NamedTuple):
    """The non-zero values of a vector, with their indices."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


class PassageFields(NamedTuple):
    """The searchable fields of a passage; `path` is relative to its tracked directory."""

    text: str
    heading: str
    title: str
    path: str


def passage_weights(fields: PassageFields, *, language: str) -> SparseVector:
    """Return the BM25 weights of the words of a passage, without their rarity; `language` is a BCP 47 tag or ""."""
    stemmed_in = NAMES.get(language, _DEFAULT_LANGUAGE)
    counts: Counter[str] = Counter()
    length = 0
    for field, weight in zip(index_fields(**fields._asdict()), FTS_WEIGHTS, strict=True):
        field_words = split_into_words(field)
        length += len(field_words)
        for word in field_words:
            counts[word] += weight  # type: ignore[assignment]  # weights have fractions
            counts[_stem_key(word, stemmed_in)] += weight  # type: ignore[assignment]  # as above
    spread = _SATURATION * (1 - _SLOPE + _SLOPE * length / _USUAL_LENGTH)
    return _sparse({word: n * (_SATURATION + 1) / (n + spread) for word, n in counts.items()})


def query_weights(terms: Iterable[Term], languages: Sequence[str]) -> SparseVector:
    """Return the weights of the terms of a plan, with the endings of these languages."""
    weights: dict[str, float] = {}
    for term in terms:
        if term.rows:  # a name in parts, each of which is a term by itself
            weights |= dict.fromkeys(term.forms, 1.0)
        elif "*" in term.typed:
            weights |= dict.fromkeys(sorted(term.forms)[:_MAX_FORMS], 1.0)
        else:
            stems = {_stem_key(term.typed, language): _VARIANT_WEIGHT for language in languages}
            weights |= {term.typed: 1 - _VARIANT_WEIGHT, **stems}
    return _sparse(weights)


def passage_words(fields: PassageFields) -> str:
    """Return all words of a passage as the index splits them, joined by blanks, for a full-text filter."""
    return " ".join(word for field in index_fields(**fields._asdict()) for word in split_into_words(field))


def _stem_key(word: str, language: str) -> str:
    """Return the key of all forms of a word; its zero byte keeps it apart from words."""
    return f"\0{stem_of(word, language)}"


def _sparse(parts: Mapping[str, float]) -> SparseVector:
    """Return a vector indexed by hashes; of 100,000 different words, each collides with a chance of one in 43,000."""
    values: dict[int, float] = {}
    for word, value in parts.items():
        index = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        values[index] = max(value, values.get(index, 0.0))
    return SparseVector(tuple(values), tuple(values.values()))


_DEFAULT_LANGUAGE: Final = "english"
_SATURATION: Final = 1.2
_SLOPE: Final = 0.75
"""k1 and b of BM25, as in FTS5."""

_USUAL_LENGTH: Final = 150
"""The usual number of words in a passage: the average of an index would change every vector at every run."""

_VARIANT_WEIGHT: Final = 0.6
"""The weight of a word in another form than the typed one, as in ranking."""

_MAX_FORMS: Final = 100
