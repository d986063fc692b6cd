"""Vectors in float32 that tests compare those of the shipped model with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bert.reference import Reference


def write(texts: Path, vectors: Path, model: Reference, *, prefix: str = "") -> None:
    """Embed texts, and write four digits of each number."""
    embedded = (model.embed(prefix + text) for text in json.loads(texts.read_text(encoding="utf-8")))
    rounded = [[round(float(value), 4) for value in vector] for vector in embedded]
    vectors.write_text("[\n" + ",\n".join(map(json.dumps, rounded)) + "\n]\n", encoding="utf-8")
