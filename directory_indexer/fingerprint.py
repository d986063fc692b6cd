"""What built an index: when it differs from what would build it now, something must be done again."""

from __future__ import annotations

import json
from typing import NamedTuple

from directory_indexer.ids import content_hash


class Fingerprint(NamedTuple):
    """The ways of embedding, chunking, extracting, analysing and finding secrets, each as text that changes with it."""

    embedding: str
    chunking: str
    extraction: str
    analysis: str
    secrets: str = ""

    @property
    def recipe(self) -> int:
        """Number the way from a file to its chunks, to be stored with each file."""
        return int.from_bytes(content_hash(f"{self.chunking}\0{self.extraction}\0{self.secrets}".encode())[:6], "big")

    def differences(self, built: Fingerprint) -> tuple[str, ...]:
        """Say what has to be done again because the index was built in another way."""
        return tuple(
            f"{work} ({name} was {getattr(built, name)}, is {getattr(self, name)})"
            for name, work in _WORK.items()
            if getattr(built, name) != getattr(self, name)
        )

    def to_json(self) -> str:
        """Write the fingerprint as it is remembered in the index."""
        return json.dumps(self._asdict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Fingerprint:
        """Read a remembered fingerprint."""
        return cls(**json.loads(text))


_WORK = {
    "embedding": "embed every text again",
    "chunking": "read and chunk every file again",
    "extraction": "read every file again",
}
"""What a difference costs. Analysis is missing: full-text rows are filled again from the stored texts at once. So are
secrets: nobody is asked whether those that an older version overlooked may stay."""
