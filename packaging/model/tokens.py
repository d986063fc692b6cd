"""Prepared pairs on the device that trains: texts as one row of tokens, cut into batches of similar length."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minilm import Encoder

MICRO_TOKENS = 65_536
"""So many tokens go through the encoder at once: a GPU is busy, and its memory holds what a step needs."""


class Texts(NamedTuple):
    """Texts one after the other: `tokens[starts[i]:starts[i] + lengths[i]]` is text `i`."""

    tokens: Tensor
    starts: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, tokens: np.ndarray, lengths: np.ndarray, device: str) -> Texts:
        ends = np.cumsum(lengths, dtype=np.int64)
        return cls(
            torch.from_numpy(tokens.astype(np.int32)).to(device),
            torch.from_numpy(ends - lengths).to(device),
            torch.from_numpy(lengths.astype(np.int64)).to(device),
        )

    def rows(self, which: Tensor, left_out: Tensor | None, limit: int) -> tuple[Tensor, Tensor]:
        """Return some texts, padded, and what is a token; `left_out` are the first to skip and the first not to."""
        lengths = self.lengths[which]
        if left_out is not None:
            n_left_out = left_out[:, 1] - left_out[:, 0]
            lengths = lengths - n_left_out
        lengths = lengths.clamp(max=limit)
        width = -(-int(lengths.max()) // 16) * 16
        at = torch.arange(width, device=which.device)[None]
        is_token = at < lengths[:, None]
        places = at.expand(len(which), -1)
        if left_out is not None:
            places = places + n_left_out[:, None] * (places >= left_out[:, :1])
        places = (self.starts[which][:, None] + places).clamp(max=len(self.tokens) - 1)
        return self.tokens[places].long() * is_token, is_token


class Pairs(NamedTuple):
    """Questions, passages, and which belongs to which."""

    questions: Texts
    passages: Texts
    passage: Tensor
    places: Tensor
    kind: np.ndarray
    package: np.ndarray

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray], device: str) -> Pairs:
        return cls(
            Texts.of(arrays["questions"], arrays["question_lengths"], device),
            Texts.of(arrays["passages"], arrays["passage_lengths"], device),
            torch.from_numpy(arrays["passage"].astype(np.int64)).to(device),
            torch.from_numpy(arrays["places"].astype(np.int64)).to(device),
            arrays["kind"],
            arrays["package"],
        )


def embed(encoder: Encoder, texts: Texts, which: Tensor, *, left_out: Tensor | None = None, limit: int = 256) -> Tensor:
    """Return the vectors of some texts, in their order."""

    def vectors(part: Tensor) -> Tensor:
        ids, is_token = texts.rows(which[part], None if left_out is None else left_out[part], limit)
        return encoder(ids, is_token)

    return by_length(texts.lengths[which].clamp(max=limit), vectors)


def cosines(vectors: Tensor, other: Tensor) -> Tensor:
    """Return products in full precision: halves would tie passages that lie close together."""
    with torch.autocast(vectors.device.type, enabled=False):
        return vectors.float() @ other.float().T


def by_length(lengths: Tensor, compute: Callable[[Tensor], Tensor], micro_tokens: int = MICRO_TOKENS) -> Tensor:
    """Return what is computed of texts, those of similar length together, in their own order."""
    order = torch.argsort(lengths)
    sizes = lengths[order].cpu().numpy()
    parts, first = [], 0
    while first < len(sizes):
        last = first + 1
        while last < len(sizes) and (last + 1 - first) * max(int(sizes[last]), 16) <= micro_tokens:
            last = (
                min(last + 32, len(sizes))
                if (last + 33 - first) * int(sizes[min(last + 32, len(sizes) - 1)]) <= micro_tokens
                else last + 1
            )
        parts.append(compute(order[first:last]))
        first = last
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=order.device)
    return torch.cat(parts)[back]
