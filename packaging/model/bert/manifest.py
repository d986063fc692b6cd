"""The files of a built model, and the list of their hashes in `model.json` beside them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import blake3

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write(directory: Path, outputs: Mapping[str, bytes], *, is_accepted: bool) -> bool:
    """Write files that are as `model.json` says, or any with their new hashes if it `is_accepted`; tell if they are.

    The list may name further files, which stay as they are.
    """
    file = directory / "model.json"
    manifest = json.loads(file.read_text())
    hashes = {name: blake3.blake3(content).hexdigest() for name, content in outputs.items()}
    for name, content in outputs.items():
        print(f"{hashes[name]}  {name}  {len(content)} bytes")
    if hashes != {name: manifest["blake3"].get(name) for name in hashes} and not is_accepted:
        print("this is not what model.json describes; nothing was written", file=sys.stderr)
        return False
    for name, content in outputs.items():
        (directory / name).write_bytes(content)
    file.write_text(json.dumps(manifest | {"blake3": manifest["blake3"] | hashes}, indent=2) + "\n")
    return True
