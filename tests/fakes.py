"""Stand-ins for what is slow or far away, which keep the promises of the real thing."""

from __future__ import annotations

import re
import threading
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from directory_indexer.core.fingerprint import EmbeddingSpace, EmbeddingUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


@dataclass
class FakeEmbedder:
    """Texts that share words are near each other: each word adds to one of a few dimensions, chosen by its hash.

    `embedded` holds every document text it was given, in order, for tests on what is embedded and what is not.
    """

    dimensions: int = 64
    embedded: list[str] = field(default_factory=list)
    model: str = "bag-of-words"
    batch_size: int = 128

    @property
    def space(self) -> EmbeddingSpace:
        return EmbeddingSpace(provider="fake", model=self.model, dimensions=self.dimensions)

    @property
    def max_tokens(self) -> int:
        return 512

    @property
    def concurrency(self) -> int:
        return 1

    @property
    def usage(self) -> EmbeddingUsage:
        return EmbeddingUsage()

    def check(self) -> None:
        """Answer always."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded.extend(texts)
        return np.array([self.embed_query(text) for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return word_vector(text, self.dimensions)

    def close(self) -> None:
        """Hold nothing, so give back nothing."""


def word_vector(text: str, dimensions: int) -> NDArray[np.float32]:
    # A little everywhere, so that a text without words has a direction too.
    vector = np.full(dimensions, 0.01, np.float32)
    for word in re.findall(r"\w+", text.lower()):
        vector[zlib.crc32(word.encode("utf-8", "replace")) % dimensions] += 1
    return vector / np.linalg.norm(vector)


class GatedEmbedder(FakeEmbedder):
    """Stands still in its second batch until it is let go on."""

    def __init__(self) -> None:
        super().__init__(batch_size=4)
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self.embedded) >= 4:
            self.has_begun.set()
            assert self.may_go_on.wait(30)
        return super().embed_documents(texts)


def in_a_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    results: list[object] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results
