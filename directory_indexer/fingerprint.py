"""What built an index: when it differs from what would build it now, something must be done again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from directory_indexer.errors import REBUILD, CorruptIndexError
from directory_indexer.ids import content_hash


class Fingerprint(NamedTuple):
    """The ways of embedding, chunking, extracting, analysing and finding secrets, each as text that changes with it.

    `extraction` is what all kinds of files share; `formats` has the version of each kind's own way, which concerns the
    files of that kind alone. `pictured` names the kinds whose pictures are read, which OCR has to be switched on for.
    """

    embedding: str
    chunking: str
    extraction: str
    analysis: str
    secrets: str = ""
    formats: Mapping[str, int] = MappingProxyType({})
    pictured: Sequence[str] = ()

    @property
    def recipe(self) -> int:
        """Number the way from a file to its chunks that all kinds share, to be stored with each file."""
        return int.from_bytes(content_hash(f"{self.chunking}\0{self.extraction}\0{self.secrets}".encode())[:6], "big")

    def differences(self, built: Fingerprint) -> tuple[str, ...]:
        """Say what has to be done again because the index was built in another way."""
        return tuple(
            f"{work} ({name} was {getattr(built, name)}, is {getattr(self, name)})"
            for name, work in _WORK.items()
            if getattr(built, name) != getattr(self, name)
        )

    def changed_kinds(self, built: Fingerprint) -> frozenset[str]:
        """Name the kinds of files that come to something else now; an older index does not tell.

        What was read on pictures stays when OCR is switched off.
        """
        if not built.formats:
            return frozenset()
        return frozenset(dict(self.formats.items() ^ built.formats.items())) | {*self.pictured} - {*built.pictured}

    def to_json(self) -> str:
        """Write the fingerprint as it is remembered in the index."""
        return json.dumps(self._replace(formats=dict(self.formats))._asdict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Fingerprint:
        """Parse a remembered fingerprint.

        Raises:
            CorruptIndexError: it is damaged.
        """
        try:
            return _checked(cls(**json.loads(text)))
        except (ValueError, TypeError, RecursionError) as error:
            raise CorruptIndexError("the record of what built the index is damaged", hint=REBUILD) from error


def _checked(built: Fingerprint) -> Fingerprint:
    are_versions = all(isinstance(version, int) for version in dict(built.formats).values())
    if not are_versions or not all(isinstance(value, str) for value in built[:_N_TEXTS]):
        raise TypeError(built)
    return built._replace(formats=dict(built.formats), pictured=tuple(map(str, built.pictured)))


_N_TEXTS = 5
"""The fields that are texts come first."""


_WORK = {
    "embedding": "embed every text again",
    "chunking": "read and chunk every file again",
    "extraction": "read every file again",
}
"""What a difference costs. Analysis is missing: full-text rows are filled again from the stored texts at once. So are
secrets: nobody is asked whether those that an older version overlooked may stay."""
