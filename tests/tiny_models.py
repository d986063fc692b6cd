"""A model of the same shape as the multilingual one, and so small that a test makes it."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from bert import graph, manifest
from bert.graph import WORDS, FourBitTable, Shape
from blake3 import blake3

from directory_indexer.embedding.models import EmbeddedModel, ModelPackage, Prefixes
from directory_indexer.ranking.candidates import MULTILINGUAL_MODEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

SHAPE = Shape("tiny", n_layers=2, n_heads=2, scaled_by_token=range(2))
WIDTH, WIDE, N_POSITIONS, WINDOW, N_WINDOWS = 32, 64, 64, 62, 2
PREFIXES = Prefixes("query: ", "passage: ")
MARKS = ("<s>", "<pad>", "</s>", "<unk>")
WORDS_OF_PREFIXES = ("\u2581query", "\u2581passage")
LETTERS = (*string.ascii_letters, *string.digits, *string.punctuation, *"äöüßéèñ漢字かなабвгд", "\u2581")
PARTS = ("er", "en", "\u2581the", "\u2581a", "ing", "tion", "\u2581ha", "rb", "our", "漢字", "\u2581漢")
PIECES = (*MARKS, *WORDS_OF_PREFIXES, *LETTERS, *PARTS, "<mask>")


class TinyModel(NamedTuple):
    """Where the files of a model lie, what it is, and its weights in float32."""

    directory: Path
    model: EmbeddedModel
    weights: dict[str, Floats]


def scores() -> list[float]:
    """Give how likely each piece is: longer ones more so, as in a trained vocabulary."""
    return [0.0 if piece in MARKS else -12.0 + len(piece) - number / 100 for number, piece in enumerate(PIECES)]


def write_tiny_model(directory: Path) -> TinyModel:
    """Write a model of chance into a directory, which the name of its package names."""
    directory.mkdir(parents=True)
    words, weights = _weights()
    smoothing = {tensor: np.ones(WIDTH, np.float32) for tensor in SHAPE.smoothed_tensors}
    built = graph.int8_model(SHAPE, weights, smoothing, words=words)
    outputs = {
        "weights.bin": graph.take_out_weights(built, "weights.bin", smallest=4096),
        "model.onnx": graph.serialized(built),
        "vocabulary.txt": "\n".join(PIECES).encode(),
        "scores.bin": np.array(scores(), "<f4").tobytes(),
    }
    description = directory / "model.json"
    description.write_text(json.dumps({"name": SHAPE.name, "dimensions": WIDTH, "blake3": {}}))
    manifest.write(directory, outputs, is_accepted=True)
    package = ModelPackage(
        "dirindex-tiny-model",
        directory.name,
        manifest=blake3(description.read_bytes()).hexdigest(),
        source="packaging/tiny",
    )
    model = EmbeddedModel(SHAPE.name, WIDTH, WINDOW, N_WINDOWS, "unigram", 9000, PREFIXES, package, MULTILINGUAL_MODEL)
    return TinyModel(directory, model, weights)


def _weights() -> tuple[FourBitTable, dict[str, Floats]]:
    chance = np.random.default_rng(11)
    numbers = chance.integers(0, 256, (len(PIECES), WIDTH // 32, 16), np.uint8)
    words = FourBitTable(numbers, np.full((len(PIECES), WIDTH // 32, 1), 0.2, np.float16))

    def matrix(*shape: int) -> Floats:
        return chance.normal(0, 0.15, shape).astype(np.float32)

    weights = {
        WORDS: words.floats(),
        "embeddings.position_embeddings.weight": matrix(N_POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": matrix(1, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(SHAPE.n_layers):
        name = f"encoder.layer.{layer}"
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        square = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
        sizes = dict.fromkeys(square, (WIDTH, WIDTH))
        sizes |= {"intermediate.dense": (WIDE, WIDTH), "output.dense": (WIDTH, WIDE)}
        for part, (n_out, n_in) in sizes.items():
            weights |= {f"{name}.{part}.weight": matrix(n_out, n_in), f"{name}.{part}.bias": matrix(n_out)}
    for norm in norms:
        weights |= {f"{norm}.weight": np.ones(WIDTH, np.float32), f"{norm}.bias": np.zeros(WIDTH, np.float32)}
    return words, weights
