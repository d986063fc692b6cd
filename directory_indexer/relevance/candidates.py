"""What ranking is given: passages that were found, and the model that judged their meaning."""

from __future__ import annotations

from typing import Final, NamedTuple

from directory_indexer.ids import ChunkId
from directory_indexer.paths import FilePath

DEPTH: Final = 40
"""How many candidates to take from each list; 50 and 100 of them changed no measured answer by more than 0.003."""


class Model(NamedTuple):
    """What is known about the model that the cosines come from.

    `languages` are those that it understands, or None for all; `is_measured` says that its cosines mean what those of
    the embedded model mean: 0.2 for texts that have nothing to do with each other, 0.7 for a passage that answers.
    """

    languages: frozenset[str] | None
    is_measured: bool


EMBEDDED_MODEL: Final = Model(frozenset({"english"}), is_measured=True)
OTHER_MODEL: Final = Model(None, is_measured=False)


class Candidate(NamedTuple):
    """A passage that one of the lists or both have found, and what ranking needs to know about it.

    The scores are those of the lists; `cosine` is there for every passage whose vector is. Passages of a later `band`
    come after all of an earlier one, and are judged among themselves.
    """

    chunk_id: ChunkId
    path: FilePath
    ordinal: int
    is_code: bool
    title: str
    heading: str
    text: str
    keyword_score: float | None = None
    semantic_score: float | None = None
    cosine: float | None = None
    band: int = 0
    language: str = ""
    """That of its file, as the first part of a BCP 47 tag; "" where it is not known."""


def place_of(one: Candidate) -> tuple[str, int]:
    """Tell where a passage stands, which decides between equals."""
    return one.path, one.ordinal
