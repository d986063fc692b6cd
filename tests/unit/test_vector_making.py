"""How many texts a search gives to a model at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.ids import content_hash
from directory_indexer.search.on_demand_embedding import OnDemandEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class _Model:
    space = EmbeddingSpace(provider="embedded", model="any", dimensions=2)
    max_tokens = None
    batch_size = 100
    concurrency = 1

    def __init__(self) -> None:
        self.batches: list[int] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(len(texts))
        return np.ones((len(texts), 2), np.float32)


@pytest.mark.parametrize(("text", "n_first"), [("read a file " * 25, 10), ("가나다라마바사아자차카타" * 25, 3)])
def test_first_batch_holds_fewer_texts_in_letters_that_take_more_tokens(text: str, n_first: int) -> None:
    model = _Model()
    texts = [f"{number}{text}"[: len(text)] for number in range(20)]
    making = OnDemandEmbedder(seconds=60)
    making.embed({content_hash(one.encode()): one for one in texts}, model, share=1)  # type: ignore[arg-type]
    assert model.batches[0] == n_first
    assert len(making.made) == sum(model.batches) == len(texts)
