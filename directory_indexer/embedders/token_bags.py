"""Texts as bags of tokens of the packaged model, computed quickly; order does not matter."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from directory_indexer.embedders.wordpiece import N_TOKENS, pieces_of_ascii_word, pieces_of_text, words_of
from directory_indexer.lazy import lazily

with lazily:
    from numpy.typing import NDArray


class Bags(NamedTuple):
    """The tokens of texts, one text after the other, and the number of tokens of each text."""

    tokens: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def parts(self, n_texts: int) -> Iterator[Bags]:
        """Yield batches of `n_texts` texts."""
        ends = np.append(0, np.cumsum(self.lengths))
        for start in range(0, max(self.lengths.size, 1), n_texts):
            lengths = self.lengths[start : start + n_texts]
            yield Bags(self.tokens[ends[start] : ends[start + lengths.size]], lengths)


def bags_of(texts: Sequence[str]) -> Bags:
    """Tokenise texts."""
    return _words.bags(texts)


def counts(bags: Bags, tokens: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the counts of these tokens in each bag; an array of shape (bags, tokens)."""
    columns = np.full(N_TOKENS, -1, np.int64)
    columns[tokens] = np.arange(tokens.size)
    column = columns[bags.tokens]
    bag = np.repeat(np.arange(bags.lengths.size), bags.lengths)
    cell_counts = np.bincount((bag * tokens.size + column)[column >= 0], minlength=bags.lengths.size * tokens.size)
    return cell_counts.reshape(bags.lengths.size, tokens.size).astype(np.float32)


class _Words(dict[bytes, int]):
    """The words seen so far, numbered; the tokens of a word end at its entry of `_ends` in one long array.

    A text then costs one look-up per word. ASCII punctuation is left out, since it carries no meaning here.
    """

    def __init__(self) -> None:
        self._tokens, self._ends = array("i"), array("q", [0])

    def bags(self, texts: Sequence[str]) -> Bags:
        """Tokenise texts."""
        if len(self._tokens) >= _MOST_TOKENS:
            self.clear()
            self._tokens, self._ends = array("i"), array("q", [0])
        words = [words_of(text) for text in texts]
        lengths_in_words = list(map(len, words))
        all_words = np.fromiter(map(self.__getitem__, chain.from_iterable(words)), np.int64, sum(lengths_in_words))
        ends = np.frombuffer(self._ends, np.int64)
        starts, lengths = ends[all_words], ends[all_words + 1] - ends[all_words]
        behind = np.append(0, np.cumsum(lengths))
        places = np.arange(behind[-1]) + np.repeat(starts - behind[:-1], lengths)
        tokens = np.frombuffer(self._tokens, np.int32)[places] if places.size else np.empty(0, np.int32)
        return Bags(tokens, np.diff(behind[np.cumsum([0, *lengths_in_words])]))

    def __missing__(self, word: bytes) -> int:
        self._tokens.extend(pieces_of_ascii_word(word.decode()) if word.isascii() else pieces_of_text(word.decode()))
        self._ends.append(len(self._tokens))
        return self.setdefault(word, len(self._ends) - 2)


_MOST_TOKENS = 1 << 20
_words = _Words()
