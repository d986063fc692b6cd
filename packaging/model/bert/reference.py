"""Computation of the published weights of an encoder in float32: the measure of its int8 form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from bert import graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bert.graph import Floats, Shape, Weights

    Tokenize = Callable[[str], list[int]]


class Reference:
    """Run published weights in float32, one text a call; threads may share it.

    `tokenize` gives the ids of a text, with the marks of start and end.
    """

    def __init__(self, shape: Shape, weights: Weights, tokenize: Tokenize) -> None:
        self.shape = shape
        self._tokenize = tokenize
        model = graph.serialized(graph.fp32_model(shape, weights))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def embed(self, text: str) -> Floats:
        """Return the vector of a text."""
        return self.embed_ids(self._tokenize(text))

    def embed_ids(self, ids: list[int]) -> Floats:
        """Return the vector of the text of these tokens."""
        vector: Floats = self._run(ids, ("embedding",))["embedding"][0]
        return vector

    def run(self, text: str, names: Sequence[str]) -> dict[str, Floats]:
        """Return the tensors of these names."""
        return self._run(self._tokenize(text), names)

    def _run(self, ids: list[int], names: Sequence[str]) -> dict[str, Floats]:
        outputs = self._session.run(list(names), {"input_ids": np.array([ids], np.int64)})
        return dict(zip(names, outputs, strict=True))
