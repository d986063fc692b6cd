"""Files of the packaged model, and their verification.

Cheap to import: it has the dimensions of vectors for code that needs no vector.
"""

from __future__ import annotations

import os

from blake3 import blake3

from directory_indexer.core.errors import ProviderError

DIMENSIONS = 384

STATIC_TABLE_VERSION = 3
"""Incremented with every change that makes static vectors incomparable with earlier ones, or their model unreadable."""

READABLE_STATIC_TABLES = (2, STATIC_TABLE_VERSION)
"""Versions whose static vectors can be searched; a run replaces those of the first, whose model has one mean."""

# Without pathlib, which takes 5 ms to import and which a worker for one file does not need.
MODEL_DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "models", "all-MiniLM-L6-v2")


_REINSTALL_HINT = "install dirindex again: the embedded model is part of the package"


def verified_file(
    name: str, directory: str | os.PathLike[str] = MODEL_DIRECTORY, *, hint: str = _REINSTALL_HINT
) -> str:
    """Return the path of a model file after comparing its hash with the one in `model.json`.

    Raises:
        ProviderError: when the file is missing, cannot be read, or is another one.
    """
    path = os.path.join(directory, name)
    try:
        with open(os.path.join(directory, "model.json"), "rb") as file:
            manifest = file.read()
        actual = blake3().update_mmap(path).hexdigest()
    except OSError as error:
        raise ProviderError(f"cannot read '{path}': {error.strerror}", hint=hint) from error
    # Importing json takes 2 ms, a thirtieth of a worker's start-up.
    if f'"{name}": "{actual}"'.encode() not in manifest:
        raise ProviderError(f"'{path}' is damaged: its hash {actual} is not the one in 'model.json'", hint=hint)
    return path
