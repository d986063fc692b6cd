"""Prefilter of grep: full-text conditions that every chunk with a matching line meets.

A pattern requires clauses, which are sets of literals: a matching line contains one literal of each. A chunk that
contains a literal has its words, whatever surrounds it. Characters that the analyzer may write differently, such as
those with diacritics, are left out. A literal may begin or end within a word; the vocabulary has the words that contain
such a part. The words in the fewest chunks decide; words in nearly all chunks are not looked up.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from directory_indexer.matching import Clause
from directory_indexer.ranking.analyzer import WordsWithPart, fold_spelling
from directory_indexer.ranking.han import simplified
from directory_indexer.storage.documents.line_ranges import ChunkPrefilter


class WordPiece(NamedTuple):
    """A word of a literal; if the literal may cut off its start or end, it stands for all words with this part."""

    text: str
    has_start: bool
    has_end: bool

    @property
    def is_word(self) -> bool:
        """Whether it is a whole word."""
        return self.has_start and self.has_end


def required_pieces(text: str) -> list[tuple[WordPiece, ...]]:
    """Split a literal into rows of pieces. A chunk that contains it has all rows, each as consecutive words."""
    rows: list[tuple[WordPiece, ...]] = []
    row: list[WordPiece] = []
    for run in re.finditer(_RUN_PATTERN, "".join(map(_character_class, text))):
        start, end = run.span()
        match run[0][0]:
            case "a":
                row += _word_piece(text, start, end)
                continue
            case " ":
                continue
            case "g":
                rows += [tuple(row), tuple(_grams(text, start, end))]
            case _:
                rows.append(tuple(row))
        row = []
    return [pieces for pieces in (*rows, tuple(row)) if pieces]


def _word_piece(text: str, start: int, end: int) -> Iterator[WordPiece]:
    has_start = start > 0 and _character_class(text[start - 1]) == " "
    has_end = end < len(text) and _character_class(text[end]) == " "
    if not has_end and not text[end - 1].isascii():
        end -= 1  # a combining mark may follow and form one letter with it
    if start < end:
        yield WordPiece(text[start:end].lower(), has_start, has_end)


def _grams(text: str, start: int, end: int) -> Iterator[WordPiece]:
    """Yield the n-grams of a run without spaces as the analyzer does: a bigram begins at every character."""
    if not _is_han(text[end - 1]):
        end -= 1
    letters = simplified(text[start:end])
    if len(letters) == 1:
        yield WordPiece(letters, has_start=True, has_end=False)
    for at in range(len(letters) - 1):
        yield WordPiece(letters[at : at + 2], has_start=True, has_end=True)


@lru_cache(maxsize=1 << 12)
def _character_class(character: str) -> str:
    """Classify a character: `a` letter, ` ` separator, `g` letter of a language without spaces, `?` any other."""
    if character.isascii():
        return "a" if character.isalnum() else " "
    if re.match(_GRAM_CHARACTERS, character):
        return "g"
    lowered = character.lower()
    is_plain = len(lowered) == 1 and unicodedata.normalize("NFKD", lowered) == lowered == fold_spelling(character)
    return "a" if is_plain and lowered.isalpha() else "?"


def _is_han(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"


_RUN_PATTERN: Final = r"a+| +|g+|\?+"
_GRAM_CHARACTERS: Final = "[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]"


class Vocabulary(Protocol):
    """Statistics of the words of a full-text index."""

    @property
    def n_chunks(self) -> int:
        """The number of chunks in the index."""

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many chunks each of these words occurs; words that do not occur are left out."""

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        """Return words of the index with a prefix, with the number of chunks of each."""

    def containing(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:
        """Return words that contain a part, or end with it, with the number of chunks of each."""


def plan_prefilter(clauses: Iterable[Clause], vocabulary: Vocabulary) -> ChunkPrefilter | None:
    """Return the full-text conditions on chunks with a matching line; None if they would exclude too few chunks."""
    words = _WordFinder(vocabulary)
    requirements = [
        requirement for clause in clauses if (requirement := _clause_requirement(clause, vocabulary, words))
    ]
    max_chunks = vocabulary.n_chunks * _MAX_SHARE
    selective = [requirement for requirement in requirements if requirement.n_chunks <= max_chunks]
    useful = sorted(selective, key=lambda requirement: requirement.n_chunks)[:_MAX_REQUIREMENTS]
    if not useful:
        return None
    whole = " AND ".join(f"({requirement.whole})" for requirement in useful)
    lookup = ChunkPrefilter(f"{{text}} : ({whole})", f"{{text}} : ({useful[0].part})")
    return lookup if words.last_row is None else lookup._replace(last_row=words.last_row)


class _Requirement(NamedTuple):
    """FTS5 expressions for the chunks with a text, and for those with its rarest word; at most so many chunks."""

    whole: str
    part: str
    n_chunks: int


class _WordFinder:
    """Finds the words of the vocabulary that a partial word may belong to, each once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[WordPiece, list[tuple[str, int]]] = {}
        self.last_row: int | None = None
        """The last chunk whose words are known, if not all are."""

    def words_of(self, piece: WordPiece) -> list[tuple[str, int]]:
        """Return the words that a piece may be, with the number of chunks of each."""
        if piece not in self._known:
            self._known[piece] = self._find(piece)
        return self._known[piece]

    def _find(self, piece: WordPiece) -> list[tuple[str, int]]:
        text = piece.text
        if piece.is_word:
            return list(self._vocabulary.counts((text,)).items())
        if piece.has_start:
            return self._vocabulary.starting_with(text, limit=_MAX_WORDS + 1)
        matches = self._vocabulary.containing(text, ends=piece.has_end, limit=_MAX_WORDS + 1)
        if matches.last_row is not None:
            self.last_row = min(matches.last_row, self.last_row or matches.last_row)
        return matches.words


def _clause_requirement(clause: Clause, vocabulary: Vocabulary, words: _WordFinder) -> _Requirement | None:
    requirements = [_text_requirement(text, vocabulary, words) for text in sorted({text.lower() for text in clause})]
    if not all(requirements):
        return None
    known = [requirement for requirement in requirements if requirement is not None and requirement.n_chunks] or [
        _MATCHES_NOTHING
    ]
    return _Requirement(
        " OR ".join(f"({requirement.whole})" for requirement in known),
        " OR ".join(f"({requirement.part})" for requirement in known),
        sum(requirement.n_chunks for requirement in known),
    )


def _text_requirement(text: str, vocabulary: Vocabulary, finder: _WordFinder) -> _Requirement | None:
    rows = required_pieces(text)
    words = [piece for row in rows for piece in row if piece.has_start]
    known = [requirement for piece in words if (requirement := _piece_requirement(piece, finder)) is not None]
    max_chunks = vocabulary.n_chunks * _SMALL_SHARE
    if not any(requirement.n_chunks <= max_chunks for requirement in known):
        # Finding the words that contain a part takes a scan of all words.
        parts = [piece for row in rows for piece in row if not piece.has_start and len(piece.text) >= _MIN_PART_LENGTH]
        known += [requirement for piece in parts if (requirement := _piece_requirement(piece, finder)) is not None]
    if not known:
        return None
    rarest = min(known, key=lambda requirement: requirement.n_chunks)
    phrases = [phrase for row in rows if (phrase := _phrase_expression(row))]
    return _Requirement(" AND ".join([f"({rarest.whole})", *phrases]), rarest.part, rarest.n_chunks)


def _piece_requirement(piece: WordPiece, finder: _WordFinder) -> _Requirement | None:
    matches = finder.words_of(piece)
    if len(matches) > _MAX_WORDS:
        return None
    n_chunks = sum(count for _, count in matches)
    if not matches:
        return _MATCHES_NOTHING
    words = (
        f"{_quote_for_fts(piece.text)} *"
        if piece.has_start and not piece.has_end
        else _any_of_expression(word for word, _ in matches)
    )
    return _Requirement(words, words, n_chunks)


def _phrase_expression(row: Sequence[WordPiece]) -> str:
    """Return the phrase of the consecutive words of a row, without a first word whose start is cut off."""
    known = [piece for piece in row if piece.has_start]
    if len(known) <= 1:
        return ""
    return f"{_quote_for_fts(' '.join(piece.text for piece in known))}{'' if known[-1].has_end else ' *'}"


def _any_of_expression(words: Iterable[str]) -> str:
    return " OR ".join(map(_quote_for_fts, words))


def _quote_for_fts(words: str) -> str:
    return json.dumps(words, ensure_ascii=False).replace('\\"', '""')


_UNINDEXED_WORD: Final = '"\U0010fffd"'
_MATCHES_NOTHING: Final = _Requirement(_UNINDEXED_WORD, _UNINDEXED_WORD, 0)
_MAX_SHARE: Final = 0.4
_SMALL_SHARE: Final = 0.01
_MAX_REQUIREMENTS: Final = 3
_MAX_WORDS: Final = 1000
_MIN_PART_LENGTH: Final = 3
