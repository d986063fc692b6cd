"""Where the files of the embedded model lie, and that they are the ones this version was tested with.

Light to import: it knows the shape of the model's vectors for those who need no vector.
"""

from __future__ import annotations

import json
from pathlib import Path

from blake3 import blake3

from directory_indexer.errors import ProviderError

DIMENSIONS = 384
MODEL_DIRECTORY = Path(__file__).parent.parent / "models" / "all-MiniLM-L6-v2"


def verified_file(name: str, directory: Path = MODEL_DIRECTORY) -> Path:
    """Give the path of a file of the model after comparing its hash with the one in `model.json`.

    Raises:
        ProviderError: when the file is missing, cannot be read, or is another one.

    """
    path = directory / name
    try:
        expected = json.loads((directory / "model.json").read_bytes())["blake3"][name]
        actual = blake3().update_mmap(path).hexdigest()
    except OSError as error:
        raise ProviderError(f"cannot read '{path}': {error.strerror}", hint=_HINT) from error
    if actual != expected:
        raise ProviderError(f"'{path}' is damaged: its hash is {actual}, not {expected}", hint=_HINT)
    return path


_HINT = "install dirindex again: the embedded model is part of the package"
