"""The words of passages and questions as sparse vectors, whose product with inverse document frequencies is BM25.

Each word stands twice in a passage: as it is written, and by its stem, which all of its forms share. A question asks
for a share of both, as a word in another form counts less than the one that was typed.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from directory_indexer.relevance.analyzer import FTS_WEIGHTS, index_fields, words
from directory_indexer.relevance.forms import Term, stem_of
from directory_indexer.relevance.languages import NAMES

SPARSE_VERSION: Final = 2
"""Changes whenever the same words give other numbers: vectors of two versions cannot be compared."""


class SparseVector(NamedTuple):
    """Numbers by their places, of which the others are zero."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


class PassageFields(NamedTuple):
    """What of a passage is looked for by words; `path` is that below its tracked directory."""

    text: str
    heading: str
    title: str
    path: str


def passage_weights(fields: PassageFields, *, language: str) -> SparseVector:
    """Weigh the words of a passage as BM25 does, but for how rare they are; `language` is a BCP 47 tag or empty."""
    stemmed_in = NAMES.get(language, _TAKEN_FOR)
    counts: Counter[str] = Counter()
    length = 0
    for field, weight in zip(index_fields(**fields._asdict()), FTS_WEIGHTS, strict=True):
        found = words(field)
        length += len(found)
        for word in found:
            counts[word] += weight  # type: ignore[assignment]  # weights have fractions
            counts[_stem_key(word, stemmed_in)] += weight  # type: ignore[assignment]  # as above
    spread = _SATURATION * (1 - _SLOPE + _SLOPE * length / _USUAL_LENGTH)
    return _sparse({word: n * (_SATURATION + 1) / (n + spread) for word, n in counts.items()})


def question_weights(terms: Iterable[Term], languages: Sequence[str]) -> SparseVector:
    """Ask for the terms of a plan, with endings of these languages."""
    asked: dict[str, float] = {}
    for term in terms:
        if term.rows:  # a name in parts, each of which is a term by itself
            asked |= dict.fromkeys(term.forms, 1.0)
        elif "*" in term.typed:
            asked |= dict.fromkeys(sorted(term.forms)[:_MOST_FORMS], 1.0)
        else:
            stems = {_stem_key(term.typed, language): _OTHER_FORM for language in languages}
            asked |= {term.typed: 1 - _OTHER_FORM, **stems}
    return _sparse(asked)


def words_of(fields: PassageFields) -> str:
    """Give all words of a passage as the index cuts them, one after the other, for a full-text filter."""
    return " ".join(word for field in index_fields(**fields._asdict()) for word in words(field))


def _stem_key(word: str, language: str) -> str:
    """Give the key of all forms of a word; a zero byte keeps it apart from words."""
    return f"\0{stem_of(word, language)}"


def _sparse(parts: Mapping[str, float]) -> SparseVector:
    """Two words may share a place; of 100,000 different ones each does with a chance of one in 43,000."""
    by_place: dict[int, float] = {}
    for word, value in parts.items():
        place = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        by_place[place] = max(value, by_place.get(place, 0.0))
    return SparseVector(tuple(by_place), tuple(by_place.values()))


_TAKEN_FOR: Final = "english"
_SATURATION: Final = 1.2
_SLOPE: Final = 0.75
"""k1 and b of BM25, as FTS5 has them."""

_USUAL_LENGTH: Final = 150
"""How many words a passage usually has: the average of an index would change every vector at every run."""

_OTHER_FORM: Final = 0.6
"""What a word in another form than the typed one counts, as in ranking."""

_MOST_FORMS: Final = 100
