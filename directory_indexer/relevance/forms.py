"""The forms in which an index has a word of a query: words with the same stem stand for each other.

The index keeps words as they are written, so endings are dealt with here, for the languages of query and documents.
Where the forms make up most of what begins alike, one prefix asks for all of them, so that bm25() weighs them as the
one word they are.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple, Protocol

import Stemmer

from directory_indexer.relevance.analyzer import HeldWords
from directory_indexer.relevance.languages import NAMES
from directory_indexer.relevance.query import Query


class Vocabulary(Protocol):
    """What the full-text index knows about its words."""

    @property
    def n_chunks(self) -> int:
        """How many chunks the index holds."""

    @property
    def languages(self) -> tuple[str, ...]:
        """In which languages, by their tags, a good part of the documents is written."""

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each of these words occurs; words that do not occur are left out."""

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        """Give words of the index that begin so, in their order, with the number of chunks they occur in."""

    def holding(self, part: str, *, ends: bool, limit: int) -> HeldWords:
        """Return words of the index that have a part, or end with it, with the number of chunks they occur in."""


class Term(NamedTuple):
    """One word that is looked for.

    `forms` are the words of the index that stand for it, `rows` those that follow each other to stand for it.
    `n_chunks` is about the number of chunks that hold any of the forms, `n_times` how often the query has it.
    """

    typed: str
    forms: frozenset[str]
    n_chunks: int
    rows: tuple[tuple[str, ...], ...] = ()
    n_times: int = 1


class Wanted(NamedTuple):
    """A term, and the FTS5 phrases that ask for it."""

    term: Term
    phrases: tuple[str, ...]


def languages_of(query: Query, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Name the languages whose endings count: a few words are taken for English that may be of another language."""
    if query.language != _TAKEN_FOR:
        return (query.language,)
    others = (NAMES[code] for code in vocabulary.languages if code in NAMES)
    return tuple(dict.fromkeys((_TAKEN_FOR, *others)))


def with_variants(token: str, languages: tuple[str, ...], vocabulary: Vocabulary) -> Wanted:
    """Ask for a word in all the forms that the index has, with endings of these languages."""
    stems = [stem_of(token, language) for language in languages]
    beginnings = _beginnings(token, stems, languages) if token.isalpha() else []
    if not beginnings:
        return exact(token, vocabulary)
    lists = {beginning: vocabulary.starting_with(beginning, limit=_MOST_SIMILAR) for beginning in beginnings}
    similar = dict(chain.from_iterable(lists.values()))
    counts = {form: n for form, n in similar.items() if form == token or _is_form(form, stems, languages)}
    if set(counts) <= {token}:
        is_all = all(len(one) < _MOST_SIMILAR for one in lists.values())
        return _alone(token, counts.get(token, 0)) if is_all else exact(token, vocabulary)
    n_chunks = sum(counts.values())
    forms = frozenset(counts) | {token}
    common = os.path.commonprefix(tuple(forms))
    beside = sum(n for form, n in similar.items() if form.startswith(common))
    if common.startswith(tuple(beginnings)) and beside <= _MOST_BESIDE * n_chunks:
        phrases: tuple[str, ...] = (f'"{common}" *',)
    else:
        by_count = sorted(forms, key=lambda form: (-counts.get(form, 0), form))[:_MOST_FORMS]
        phrases = tuple(phrase_of((form,)) for form in by_count)
    return Wanted(Term(token, forms, n_chunks), phrases)


def _beginnings(token: str, stems: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Tell with which letters the forms of a word can begin."""
    shared = os.path.commonprefix((*(stem.rstrip("iy") for stem in stems), token))
    beginnings = [shared] if len(shared) >= _SHORTEST else []
    for stem, language in zip(stems, languages, strict=True):
        if len(stem) >= _SHORTEST_AFTER_ANOTHER:
            beginnings += [before + stem for before in _WRITTEN_BEFORE.get(language, ())]
    return beginnings


def exact(token: str, vocabulary: Vocabulary) -> Wanted:
    """Ask for a word in this form alone."""
    return _alone(token, vocabulary.counts((token,)).get(token, 0))


def _alone(token: str, n_chunks: int) -> Wanted:
    return Wanted(Term(token, frozenset((token,)), n_chunks), (phrase_of((token,)),))


def phrase_of(tokens: tuple[str, ...]) -> str:
    """Write words that follow each other for FTS5."""
    return f'"{" ".join(tokens)}"'


def _is_form(word: str, stems: Sequence[str], languages: Sequence[str]) -> bool:
    return any(stem_of(word, language) == stem for stem, language in zip(stems, languages, strict=True))


@lru_cache(maxsize=1 << 14)
def stem_of(word: str, language: str) -> str:
    """Give what the forms of a word have in common in a language; the word itself where no endings are known."""
    stemmer = _stemmer(language)
    if not stemmer:
        return word
    if language == "arabic":
        # Snowball leaves the conjunction before an article, and takes one ending at a time.
        bare = word[1:] if word.startswith("وال") else word
        return str(stemmer.stemWord(stemmer.stemWord(bare)))
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    return Stemmer.Stemmer(language, 0) if language in Stemmer.algorithms() else None


_TAKEN_FOR: Final = "english"
_SHORTEST: Final = 2
_SHORTEST_AFTER_ANOTHER: Final = 3
_WRITTEN_BEFORE: Final = {
    "arabic": ("", "ال", "وال", "بال", "وبال", "فال", "كال", "لل", "ولل", "و", "ب", "وب", "ل", "ول", "ف", "ك"),
}
"""Articles, prepositions and conjunctions that a language joins to the word behind them, as Arabic light stemmers know
them (L. Larkey et al., Improving Stemming for Arabic Information Retrieval, 2002)."""
_MOST_SIMILAR: Final = 2000
_MOST_FORMS: Final = 12
_MOST_BESIDE: Final = 4
