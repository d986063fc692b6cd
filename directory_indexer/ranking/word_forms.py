"""Word forms: the words of an index that have the same stem as a word of a query.

The index stores words as they are written, so endings are handled here, in the languages of query and documents. Where
the forms make up most of the words with a common prefix, a prefix query covers them all, so that bm25() weighs them as
one word.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple, Protocol

import Stemmer

from directory_indexer.ranking.analyzer import WordsWithPart
from directory_indexer.ranking.languages import NAMES
from directory_indexer.ranking.query import Query


class Vocabulary(Protocol):
    """Statistics of the words of a full-text index."""

    @property
    def n_chunks(self) -> int:
        """The number of chunks in the index."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Tags of the languages in which a good part of the documents is written."""

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many chunks each of these words occurs; words that do not occur are left out."""

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        """Return words of the index with a prefix, in order, with the number of chunks of each."""

    def containing(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:
        """Return words of the index that contain a part, or end with it, with the number of chunks of each."""


class Term(NamedTuple):
    """A term of a query.

    `forms` are the words of the index that match it, `rows` the sequences of words that match it. `n_chunks` is
    approximately the number of chunks with any of the forms, `n_times` how often the query contains it.
    """

    typed: str
    forms: frozenset[str]
    n_chunks: int
    rows: tuple[tuple[str, ...], ...] = ()
    n_times: int = 1


class TermQuery(NamedTuple):
    """A term, and the FTS5 phrases that match it."""

    term: Term
    phrases: tuple[str, ...]


def languages_to_stem(query: Query, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the languages whose endings count; a few words taken for English may be of another language."""
    if query.language != _DEFAULT_LANGUAGE:
        return (query.language,)
    others = (NAMES[code] for code in vocabulary.languages if code in NAMES)
    return tuple(dict.fromkeys((_DEFAULT_LANGUAGE, *others)))


def plan_inflected_term(token: str, languages: tuple[str, ...], vocabulary: Vocabulary) -> TermQuery:
    """Return a term for a word in all its forms in the index, with the endings of these languages."""
    stems = [stem_of(token, language) for language in languages]
    prefixes = _prefixes(token, stems, languages) if token.isalpha() else []
    if not prefixes:
        return plan_exact_term(token, vocabulary)
    joined = vocabulary.counts(_with_joined_words(token)) if "א" <= token[0] <= "ת" else {}
    lists = {prefix: vocabulary.starting_with(prefix, limit=_MAX_SIMILAR) for prefix in prefixes}
    similar = dict(chain.from_iterable(lists.values())) | joined
    counts = {
        form: n for form, n in similar.items() if form == token or form in joined or _is_form(form, stems, languages)
    }
    if set(counts) <= {token}:
        is_all = all(len(words) < _MAX_SIMILAR for words in lists.values())
        return _single_form(token, counts.get(token, 0)) if is_all else plan_exact_term(token, vocabulary)
    n_chunks = sum(counts.values())
    forms = frozenset(counts) | {token}
    common = os.path.commonprefix(tuple(forms))
    n_with_prefix = sum(n for form, n in similar.items() if form.startswith(common))
    if common.startswith(tuple(prefixes)) and n_with_prefix <= _MAX_OTHERS_RATIO * n_chunks:
        phrases: tuple[str, ...] = (f'"{common}" *',)
    else:
        by_count = sorted(forms, key=lambda form: (-counts.get(form, 0), form))[:_MAX_FORMS]
        phrases = tuple(fts_phrase((form,)) for form in by_count)
    return TermQuery(Term(token, forms, n_chunks), phrases)


def _with_joined_words(token: str) -> tuple[str, ...]:
    """Return a Hebrew word with the short words that may be joined to it, and without one that it begins with."""
    bare = [token.removeprefix(prefix) for prefix in _HEBREW_PREFIXES if token.startswith(prefix)]
    words = [token, *(word for word in bare if len(word) >= _MIN_JOINED_LENGTH)]
    return tuple(dict.fromkeys((*words, *(prefix + word for word in words for prefix in _HEBREW_PREFIXES))))


def _prefixes(token: str, stems: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Return the prefixes with which the forms of a word can begin."""
    shared = os.path.commonprefix((*(stem.rstrip("iy") for stem in stems), token))
    prefixes = [shared] if len(shared) >= _MIN_PREFIX_LENGTH else []
    for stem, language in zip(stems, languages, strict=True):
        if len(stem) >= _MIN_JOINED_LENGTH:
            prefixes += [joined + stem for joined in _JOINED_PREFIXES.get(language, ())]
    return prefixes


def plan_exact_term(token: str, vocabulary: Vocabulary) -> TermQuery:
    """Return a term for a word in this form alone."""
    return _single_form(token, vocabulary.counts((token,)).get(token, 0))


def _single_form(token: str, n_chunks: int) -> TermQuery:
    return TermQuery(Term(token, frozenset((token,)), n_chunks), (fts_phrase((token,)),))


def fts_phrase(tokens: tuple[str, ...]) -> str:
    """Format consecutive words as an FTS5 phrase."""
    return f'"{" ".join(tokens)}"'


def _is_form(word: str, stems: Sequence[str], languages: Sequence[str]) -> bool:
    return any(stem_of(word, language) == stem for stem, language in zip(stems, languages, strict=True))


@lru_cache(maxsize=1 << 14)
def stem_of(word: str, language: str) -> str:
    """Return the stem of a word in a language; the word itself where no endings are known."""
    stemmer = _stemmer(language)
    if not stemmer:
        return word
    if language == "arabic":
        # Snowball keeps the conjunction before an article, and removes one ending at a time.
        bare = word[1:] if word.startswith("وال") else word
        return str(stemmer.stemWord(stemmer.stemWord(bare)))
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    return Stemmer.Stemmer(language, 0) if language in Stemmer.algorithms() else None


_DEFAULT_LANGUAGE: Final = "english"
_MIN_PREFIX_LENGTH: Final = 2
_MIN_JOINED_LENGTH: Final = 3
_JOINED_PREFIXES: Final = {
    "arabic": ("", "ال", "وال", "بال", "وبال", "فال", "كال", "لل", "ولل", "و", "ب", "وب", "ل", "ول", "ف", "ك"),
}
"""Articles, prepositions and conjunctions that are joined to the following word, as in Arabic light stemmers
(L. Larkey et al., Improving Stemming for Arabic Information Retrieval, 2002)."""
_HEBREW_PREFIXES: Final = tuple("ו ה ב כ ל מ ש וה וב וכ ול ומ וש שה כש מה לכ".split())
"""The article, prepositions and conjunctions that Hebrew joins to the following word."""

_MAX_SIMILAR: Final = 2000
_MAX_FORMS: Final = 12
_MAX_OTHERS_RATIO: Final = 4
