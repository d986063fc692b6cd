"""The factors that divide large channels of an encoder before they are rounded to eight bits (SmoothQuant)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from bert import graph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bert.graph import Floats, Weights
    from bert.reference import Reference

# How much of the difficulty of rounding moves from activations to weights; .5 and .7 are level.
_STRENGTH = 0.6


def read(path: Path) -> dict[str, Floats]:
    """Read the factors of each smoothed tensor."""
    factors = json.loads(path.read_text())
    return {tensor: np.array(values, np.float32) for tensor, values in factors.items()}


def calibrate(path: Path, model: Reference, weights: Weights, texts: Sequence[str]) -> None:
    """Write factors of three digits: the last bits of float sums differ between machines, the model must not."""
    tensors = model.shape.smoothed_tensors
    runs = [_largest(model, text) for text in texts]
    factors = {}
    for tensor in tensors:
        largest_input = np.mean([run[tensor] for run in runs], axis=0)
        largest_weight = np.abs(graph.kernels(weights, tensor)).max(axis=1)
        factor = largest_input**_STRENGTH / largest_weight ** (1 - _STRENGTH)
        factor /= np.exp(np.log(factor).mean())
        factors[tensor] = [float(f"{value:.3g}") for value in factor]
    lines = ",\n".join(f"{json.dumps(tensor)}: {json.dumps(values)}" for tensor, values in factors.items())
    path.write_text(f"{{\n{lines}\n}}\n")


def _largest(model: Reference, text: str) -> dict[str, Floats]:
    run = model.run(text, model.shape.smoothed_tensors)
    return {tensor: np.abs(values[0]).max(axis=0) for tensor, values in run.items()}
