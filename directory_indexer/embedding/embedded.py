"""Models that embed in this process, in int8 on the processor, and their SentencePiece tokenizer.

Texts are run one at a time at their exact length, so a vector never depends on the texts beside it. Several threads
share one session, which scales better than threads inside an operator (2.0 against 1.3 to 1.6 times on two cores).

Loading a unigram vocabulary (XLM-RoBERTa) takes the tokenizers library 0.8 s of processor time, and the tokenizer here
0.1 s. Its pieces are those of the library's `Unigram` model after `Nmt` and `NFKC`. The published table differs from
NFKC in the wide tilde (U+FF5E) and in characters added to Unicode since. (Kudo, "Subword Regularization", 2018, section
3.2.)
"""

from __future__ import annotations

import os
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.fingerprint import EmbeddingSpace, EmbeddingUsage
from directory_indexer.core.inference import (
    NO_OPTIMISATION,
    RUNTIME_ERRORS,
    VERSION,
    Session,
    load_session,
    session_options,
)
from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.model_files import verified_file
from directory_indexer.embedding.models import PACKAGED_MODEL, EmbeddedModel, directory_of_model

with lazily:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from directory_indexer.embedding.wordpiece import token_ids

WindowTokenizer: TypeAlias = Callable[[str, str], list[list[int]]]
"""Returns the token ids of a text after a prefix, in parts that fit into the model's window."""

UNKNOWN_TOKEN: Final = 3

_START_TOKEN, _END_TOKEN = 0, 2
_SPECIAL_PIECES: Final = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
"""Special tokens, which a text cannot produce: "<mask>" in a file is plain text."""

_WORD_START_MARK: Final = "\u2581"
_UNKNOWN_PENALTY: Final = 10.0
"""Penalty of an unknown character below the least likely piece, as in SentencePiece."""

_MAX_PIECE_CHARS: Final = 16
_MAX_CACHED_CHARS: Final = 100
_MAX_CACHED: Final = 1 << 17

_REPLACED_BY_SPACE: Final = "\t\n\x0c\r\u1680\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd"
_DELETED_CODE_POINTS: Final = [*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]
_NORMALISATION_TABLE: Final[dict[int, str | None]] = {
    **dict.fromkeys(map(ord, _REPLACED_BY_SPACE), " "),
    **dict.fromkeys(_DELETED_CODE_POINTS),
}
"""Characters that SentencePiece treats as blanks or drops before NFKC."""


class EmbeddedEmbedder:
    """Embeds with a model, on `threads` threads or as many as there are cores.

    Raises:
        ProviderError: the model is not installed or damaged, or the installed ONNX Runtime cannot run it.
    """

    batch_size = 128
    """One to four seconds of embedding on two cores: the most that an interruption can cost."""

    concurrency = 1
    """It has threads of its own."""

    def __init__(
        self,
        model: EmbeddedModel = PACKAGED_MODEL,
        *,
        threads: int | None = None,
        model_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self._model = model
        directory = os.fspath(model_directory or directory_of_model(model))
        verified_file("weights.bin", directory, hint=model.repair)
        self._session = _load_session(verified_file("model.onnx", directory, hint=model.repair))
        self._windows = _TOKENIZERS[model.tokenizer](model, directory)
        self._threads = threads or _count_usable_cores()

    @property
    def space(self) -> EmbeddingSpace:
        """The space of all vectors of this embedder."""
        return self._model.space

    @property
    def max_tokens(self) -> int:
        """Maximum tokens of one text that the model reads, as its tokenizer counts them."""
        return self._model.max_tokens

    @property
    def usage(self) -> EmbeddingUsage:
        """Empty: it costs nothing."""
        return EmbeddingUsage()

    def check(self) -> None:
        """Do nothing: the model was verified when it was loaded."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts to be indexed."""
        vectors = np.empty((len(texts), self._model.dimensions), np.float32)
        # The longest first, so that no thread is left alone with a long one.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]), reverse=True)
        embedded = self._thread_pool.map(self._embed_document, [texts[index] for index in order])
        for index, vector in zip(order, embedded, strict=True):
            vectors[index] = vector
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query."""
        return self._embed_windows(text, self._model.prefixes.query)

    def close(self) -> None:
        """End the threads; calling it twice is harmless."""
        if "_thread_pool" in self.__dict__:
            self._thread_pool.shutdown()

    def _embed_document(self, text: str) -> NDArray[np.float32]:
        return self._embed_windows(text, self._model.prefixes.document)

    def _embed_windows(self, text: str, prefix: str) -> NDArray[np.float32]:
        first, *others = self._windows(text, prefix)
        vector = self._run_model(first)
        if others:
            vector = sum(map(self._run_model, others), start=vector)
            vector /= np.linalg.norm(vector)
        return vector

    def _run_model(self, ids: list[int]) -> NDArray[np.float32]:
        try:
            vector: NDArray[np.float32] = self._session.run(["embedding"], {"input_ids": np.array([ids], np.int64)})[0][
                0
            ]
        except RUNTIME_ERRORS as error:
            raise ProviderError(f"the embedded model failed: {error}") from error
        return vector

    @cached_property
    def _thread_pool(self) -> ThreadPoolExecutor:
        # A query needs no threads, and this takes 8 ms to import.

        return ThreadPoolExecutor(self._threads, thread_name_prefix="embed")


class Vocabulary:
    """The pieces of a vocabulary in the order of their ids, and their log probabilities."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        self._scores = scores
        for mark in _SPECIAL_PIECES:
            self._ids.pop(mark, None)
        self._unknown_score = min(scores) - _UNKNOWN_PENALTY
        self._longest = _max_piece_length_by_first_char(self._ids)
        self._ids_of_word: dict[str, tuple[int, ...]] = {}

    def token_ids(self, text: str, *, limit: int) -> list[int]:
        """Return the ids of the first pieces of a text, at most `limit`."""
        ids: list[int] = []
        # Only a prefix is processed, so that a text of any length costs little.
        for word in _words(text[: limit * _MAX_PIECE_CHARS]):
            word_ids = self._ids_of_word.get(word)
            ids += self._cached_ids(word) if word_ids is None else word_ids
        return ids[:limit]

    def _cached_ids(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_CACHED_CHARS:
            return tuple(self._most_likely_pieces(word))
        if len(self._ids_of_word) >= _MAX_CACHED:
            self._ids_of_word.clear()
        return self._ids_of_word.setdefault(word, tuple(self._most_likely_pieces(word)))

    def _most_likely_pieces(self, word: str) -> Iterator[int]:
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


def split_into_windows(ids: Sequence[int], *, prefix: Sequence[int], size: int) -> list[list[int]]:
    """Split ids into as few equal parts as fit into `size` after the prefix, each between start and end tokens."""
    n_windows = max(-(-len(ids) // (size - len(prefix))), 1)
    cuts = [len(ids) * number // n_windows for number in range(n_windows + 1)]
    return [[_START_TOKEN, *prefix, *ids[start:end], _END_TOKEN] for start, end in pairwise(cuts)]


def _make_wordpiece_tokenizer(model: EmbeddedModel, _: str) -> WindowTokenizer:
    return lambda text, prefix: [token_ids(prefix + text, limit=model.window)]


def _make_unigram_tokenizer(model: EmbeddedModel, directory: str) -> WindowTokenizer:
    files = (verified_file(name, directory, hint=model.repair) for name in ("vocabulary.txt", "scores.bin"))
    vocabulary = read_vocabulary(*files)

    def cut(text: str, prefix: str) -> list[list[int]]:
        before = vocabulary.token_ids(prefix, limit=model.window)
        n_read = model.n_windows * (model.window - len(before))
        return split_into_windows(vocabulary.token_ids(text, limit=n_read), prefix=before, size=model.window)

    return cut


def _count_usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load_session(model: str) -> Session:
    options = session_options()
    # The graph is already optimised; the effect of a later runtime's optimiser is not measured.
    options.graph_optimization_level = NO_OPTIMISATION
    try:
        return load_session(str(model), options)
    except RUNTIME_ERRORS as error:
        hint = f"this version was tested with onnxruntime 1.20 to 1.31, and {VERSION} is installed"
        raise ProviderError(f"cannot load the embedded model: {error}", hint=hint) from error


def _words(text: str) -> Iterator[str]:
    # A lone surrogate, which UTF-8 cannot encode, is a question mark in every tokenizer here.
    known = text if text.isascii() else unicodedata.normalize("NFKC", _normalise_text(text))
    return (f"{_WORD_START_MARK}{word}" for word in known.translate(_NORMALISATION_TABLE).split())


def _normalise_text(text: str) -> str:
    return text.translate(_NORMALISATION_TABLE).encode("utf-8", "replace").decode()


def _max_piece_length_by_first_char(pieces: dict[str, int]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for piece in pieces:
        if len(piece) > longest.get(piece[0], 0):
            longest[piece[0]] = len(piece)
    return longest


_TOKENIZERS: dict[str, Callable[[EmbeddedModel, str], WindowTokenizer]] = {
    "wordpiece": _make_wordpiece_tokenizer,
    "unigram": _make_unigram_tokenizer,
}
