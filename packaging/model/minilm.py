"""all-MiniLM-L6-v2 in PyTorch, for training on a processor or a GPU; its weights keep their published names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Weights = Mapping[str, np.ndarray]

WIDTH, HEADS, INNER, LAYERS, WORDS, PLACES = 384, 12, 1536, 6, 30522, 512
FROZEN = ("embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight")
"""Rows of these that no text of the training set has would stay where they are, beside others that have moved."""


class Layer(nn.Module):
    """Attention, and what is computed of each token by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attention_norm, self.norm = nn.LayerNorm(WIDTH, 1e-12), nn.LayerNorm(WIDTH, 1e-12)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        n_texts, n_tokens, _ = hidden.shape
        query, key, value = self.qkv(hidden).view(n_texts, n_tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        seen = attend(query, key, value, mask).transpose(1, 2).reshape(n_texts, n_tokens, WIDTH)
        hidden = self.attention_norm(hidden + self.out(seen))
        return self.norm(hidden + self.down(functional.gelu(self.up(hidden))))


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Return what each token sees; the kernel of PyTorch takes a quarter of a step on a processor, this a tenth."""
    if query.is_cuda:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5 + mask.to(query.dtype)
    return torch.softmax(scores.float(), -1).to(value.dtype) @ value


class Encoder(nn.Module):
    """Hidden states of tokens, and their mean as a vector of length one."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.types = (
            nn.Embedding(WORDS, WIDTH),
            nn.Embedding(PLACES, WIDTH),
            nn.Embedding(2, WIDTH),
        )
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def hidden(self, ids: Tensor, is_token: Tensor, types: Tensor | None = None) -> Tensor:
        type_vectors = self.types.weight[0] if types is None else self.types(types)
        hidden = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]] + type_vectors)
        if torch.is_autocast_enabled(ids.device.type):
            hidden = hidden.to(torch.bfloat16)
        mask = torch.where(is_token, 0.0, -1e4).to(hidden.dtype)[:, None, None, :]
        if hidden.is_cuda:
            mask = mask.expand(-1, HEADS, ids.shape[1], -1)
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return hidden

    def mean(self, ids: Tensor, is_token: Tensor, types: Tensor | None = None) -> Tensor:
        hidden = self.hidden(ids, is_token, types).float()
        weight = is_token[..., None].float()
        return (hidden * weight).sum(1) / weight.sum(1)

    def forward(self, ids: Tensor, is_token: Tensor) -> Tensor:
        return functional.normalize(self.mean(ids, is_token), dim=-1)

    def named(self) -> dict[str, Tensor]:
        """Return the parameters by their published names, as views that can be written to."""
        tensors = {
            "embeddings.word_embeddings": self.words,
            "embeddings.position_embeddings": self.places,
            "embeddings.token_type_embeddings": self.types,
            "embeddings.LayerNorm": self.norm,
        }
        views: dict[str, Tensor] = {}
        for at, layer in enumerate(self.layers):
            prefix = f"encoder.layer.{at}"
            for which, part in enumerate(("query", "key", "value")):
                rows = slice(which * WIDTH, (which + 1) * WIDTH)
                views[f"{prefix}.attention.self.{part}.weight"] = layer.qkv.weight[rows]
                views[f"{prefix}.attention.self.{part}.bias"] = layer.qkv.bias[rows]
            tensors |= {
                f"{prefix}.attention.output.dense": layer.out,
                f"{prefix}.attention.output.LayerNorm": layer.attention_norm,
                f"{prefix}.intermediate.dense": layer.up,
                f"{prefix}.output.dense": layer.down,
                f"{prefix}.output.LayerNorm": layer.norm,
            }
        for name, module in tensors.items():
            views |= {f"{name}.{parameter}": value for parameter, value in module.named_parameters()}
        return views

    @torch.no_grad()
    def read(self, weights: Weights) -> Encoder:
        for name, view in self.named().items():
            view.copy_(torch.from_numpy(np.asarray(weights[name], np.float32)))
        return self

    @torch.no_grad()
    def weights(self) -> dict[str, np.ndarray]:
        return {name: view.float().cpu().numpy().copy() for name, view in self.named().items()}


def freeze(encoder: Encoder) -> None:
    """Keep the vectors of words and places as they are."""
    for module in (encoder.words, encoder.places):
        module.weight.requires_grad_(False)


def parse_safetensors(content: bytes) -> dict[str, np.ndarray]:
    start = 8 + int.from_bytes(content[:8], "little")
    types = {"F32": "<f4", "F16": "<f2"}
    return {
        name: np.frombuffer(
            content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], types[entry["dtype"]]
        )
        .reshape(entry["shape"])
        .astype(np.float32)
        for name, entry in json.loads(content[8:start]).items()
        if entry.get("dtype") in types
    }


def write_safetensors(path: Path, weights: Weights, *, dtype: str = "F32") -> None:
    """Write weights as 32-bit floats, or as half of that to send them."""
    numbers = {"F32": "<f4", "F16": "<f2"}[dtype]
    header, content = {}, bytearray()
    for name, value in sorted(weights.items()):
        part = np.ascontiguousarray(value, numbers).tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": list(value.shape),
            "data_offsets": [len(content), len(content) + len(part)],
        }
        content += part
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + content)
