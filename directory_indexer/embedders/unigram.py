"""Tokenizer for SentencePiece unigram vocabularies (XLM-RoBERTa): the likeliest pieces of each word.

Own code because loading such a vocabulary takes the tokenizers library 0.8 s of processor time, and this 0.1 s. The
pieces are those of its `Unigram` model after `Nmt` and `NFKC`. The published table differs from NFKC in the wide tilde
(U+FF5E) and in characters added to Unicode since. (Kudo, "Subword Regularization", 2018, section 3.2.)
"""

from __future__ import annotations

import sys
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

UNKNOWN_TOKEN: Final = 3

_START_TOKEN, _END_TOKEN = 0, 2
_MARKS: Final = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
"""Special tokens, which a text cannot produce: "<mask>" in a file is plain text."""

_WORD_START: Final = "\u2581"
_WORSE_THAN_ANY: Final = 10.0
"""Penalty of an unknown character below the least likely piece, as in SentencePiece."""

_LONGEST_PIECE: Final = 16
_LONGEST_CACHED: Final = 100
_MAX_CACHED: Final = 1 << 17


class Vocabulary:
    """The pieces of a vocabulary in the order of their ids, and their log probabilities."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        self._scores = scores
        for mark in _MARKS:
            self._ids.pop(mark, None)
        self._unknown_score = min(scores) - _WORSE_THAN_ANY
        self._longest = _longest_by_first(self._ids)
        self._ids_of_word: dict[str, tuple[int, ...]] = {}

    def token_ids(self, text: str, *, limit: int) -> list[int]:
        """Return the ids of the first pieces of a text, at most `limit`."""
        ids: list[int] = []
        # Only a prefix is processed, so that a text of any length costs little.
        for word in _words(text[: limit * _LONGEST_PIECE]):
            word_ids = self._ids_of_word.get(word)
            ids += self._cached_ids(word) if word_ids is None else word_ids
        return ids[:limit]

    def _cached_ids(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_CACHED:
            return tuple(self._likeliest(word))
        if len(self._ids_of_word) >= _MAX_CACHED:
            self._ids_of_word.clear()
        return self._ids_of_word.setdefault(word, tuple(self._likeliest(word)))

    def _likeliest(self, word: str) -> Iterator[int]:
        """Split a word into the pieces with the largest sum of log probabilities (Viterbi)."""
        starts, ids = self._best_cuts(word)
        path: list[int] = []
        end = len(word)
        while end > 0:
            # Unknown characters in a row are one token.
            if not (path and path[-1] == ids[end] == UNKNOWN_TOKEN):
                path.append(ids[end])
            end = starts[end]
        return reversed(path)

    def _best_cuts(self, word: str) -> tuple[list[int], list[int]]:
        """Return for each position in a word the start and id of the last piece of the best segmentation up to it."""
        n, known = len(word), self._ids
        best = [0.0, *[-sys.float_info.max] * n]
        starts, ids = [0] * (n + 1), [UNKNOWN_TOKEN] * (n + 1)
        for start in range(n):
            is_known = False
            for end in range(start + 1, min(start + self._longest.get(word[start], 0), n) + 1):
                id_ = known.get(word[start:end])
                if id_ is None:
                    continue
                is_known = is_known or end == start + 1
                score = best[start] + self._scores[id_]
                if score > best[end]:
                    best[end], starts[end], ids[end] = score, start, id_
            score = best[start] + self._unknown_score
            if not is_known and score > best[start + 1]:
                best[start + 1], starts[start + 1], ids[start + 1] = score, start, UNKNOWN_TOKEN
        return starts, ids


def read_vocabulary(pieces_path: str, scores_path: str) -> Vocabulary:
    """Read pieces, one a line, and their scores, little-endian floats of 32 bits."""
    with open(pieces_path, "rb") as file:
        pieces = file.read().decode().split("\n")
    scores = array("f")
    with open(scores_path, "rb") as file:
        scores.frombytes(file.read())
    if sys.byteorder == "big":
        scores.byteswap()
    return Vocabulary(pieces, scores)


def windows(ids: Sequence[int], *, prefix: Sequence[int], size: int) -> list[list[int]]:
    """Split ids into as few equal parts as fit into `size` after the prefix, each between start and end tokens."""
    n_windows = max(-(-len(ids) // (size - len(prefix))), 1)
    cuts = [len(ids) * number // n_windows for number in range(n_windows + 1)]
    return [[_START_TOKEN, *prefix, *ids[start:end], _END_TOKEN] for start, end in pairwise(cuts)]


def _words(text: str) -> Iterator[str]:
    # A lone surrogate, which UTF-8 cannot encode, is a question mark in every tokenizer here.
    known = text if text.isascii() else unicodedata.normalize("NFKC", _readable(text))
    return (f"{_WORD_START}{word}" for word in known.translate(_NMT).split())


def _readable(text: str) -> str:
    return text.translate(_NMT).encode("utf-8", "replace").decode()


def _longest_by_first(pieces: dict[str, int]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for piece in pieces:
        if len(piece) > longest.get(piece[0], 0):
            longest[piece[0]] = len(piece)
    return longest


_BLANKS: Final = "\t\n\x0c\r\u1680\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd"
_DELETED: Final = [*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]
_NMT: Final[dict[int, str | None]] = {**dict.fromkeys(map(ord, _BLANKS), " "), **dict.fromkeys(_DELETED)}
"""Characters that SentencePiece treats as blanks or drops before NFKC."""
