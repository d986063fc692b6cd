"""Where the files of the packaged model lie, and that files of a model are those that were tested.

Light to import: it knows the shape of the model's vectors for those who need no vector.
"""

from __future__ import annotations

import os

from blake3 import blake3

from directory_indexer.errors import ProviderError

DIMENSIONS = 384

STATIC_TABLE_VERSION = 2
"""Raised with every change after which static vectors of before cannot be compared with new ones."""

# A worker that parses one file does without pathlib, which takes 5 ms to import.
MODEL_DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "models", "all-MiniLM-L6-v2")


_HINT = "install dirindex again: the embedded model is part of the package"


def verified_file(name: str, directory: str | os.PathLike[str] = MODEL_DIRECTORY, *, hint: str = _HINT) -> str:
    """Return the path of a file of a model after comparing its hash with the one in `model.json`.

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
    # To import what reads JSON takes 2 ms, a thirtieth of what a worker needs to start.
    if f'"{name}": "{actual}"'.encode() not in manifest:
        raise ProviderError(f"'{path}' is damaged: its hash {actual} is not the one in 'model.json'", hint=hint)
    return path
