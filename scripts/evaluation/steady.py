"""A clock that runs with the tokens that are embedded, so that figures do not depend on what else the machine does."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from unittest.mock import patch

from directory_indexer.embedding.embedded import EmbeddedEmbedder
from directory_indexer.embedding.wordpiece import count_tokens
from directory_indexer.search import background

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

_SECONDS_A_CALL = 0.001


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Return the seconds that embedding would have taken so far."""
        return self.now


@contextlib.contextmanager
def steadily(tokens_a_second: float | None) -> Iterator[None]:
    """Embed as many texts in searches as a model would that does so many tokens a second."""
    if tokens_a_second is None:
        yield
        return
    clock, embed = _Clock(), EmbeddedEmbedder.embed_documents

    def embed_documents(self: EmbeddedEmbedder, texts: Sequence[str]) -> NDArray[np.float32]:
        clock.now += _SECONDS_A_CALL + sum(map(count_tokens, texts)) / tokens_a_second
        return embed(self, texts)

    with patch.object(background, "time", clock), patch.object(EmbeddedEmbedder, "embed_documents", embed_documents):
        yield
