"""Where the files of the embedded model lie, and that they are the ones this version was tested with.

Light to import: it knows the shape of the model's vectors for those who need no vector.
"""

from __future__ import annotations

import os

from blake3 import blake3

from directory_indexer.errors import ProviderError

DIMENSIONS = 384
TOKENS_A_SECOND = 9000
"""What the embedded model does on one core of a server of 2024: `scripts/bench embedding`."""

STATIC_TABLE_VERSION = 1
"""Raised with every change after which static vectors of before cannot be compared with new ones."""

# A worker that parses one file does without pathlib, which takes 5 ms to import.
MODEL_DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "models", "all-MiniLM-L6-v2")


def verified_file(name: str, directory: str | os.PathLike[str] = MODEL_DIRECTORY) -> str:
    """Give the path of a file of the model after comparing its hash with the one in `model.json`.

    Raises:
        ProviderError: when the file is missing, cannot be read, or is another one.

    """
    path = os.path.join(directory, name)
    try:
        with open(os.path.join(directory, "model.json"), "rb") as file:
            manifest = file.read()
        actual = blake3().update_mmap(path).hexdigest()
    except OSError as error:
        raise ProviderError(f"cannot read '{path}': {error.strerror}", hint=_HINT) from error
    # To import what reads JSON takes 2 ms, a thirtieth of what a worker needs to start.
    if f'"{name}": "{actual}"'.encode() not in manifest:
        raise ProviderError(f"'{path}' is damaged: its hash {actual} is not the one in 'model.json'", hint=_HINT)
    return path


_HINT = "install dirindex again: the embedded model is part of the package"
