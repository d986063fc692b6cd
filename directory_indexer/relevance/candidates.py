"""What ranking is given: passages that were found, and the model that judged their meaning."""

from __future__ import annotations

from typing import Final, NamedTuple

from directory_indexer.ids import ChunkId
from directory_indexer.paths import FilePath
from directory_indexer.relevance.languages import has_latin_letters

DEPTH: Final = 40
"""How many candidates to take from each list; 50 and 100 of them changed no measured answer by more than 0.003."""


class CosineScale(NamedTuple):
    """What the cosines of a model mean, as it was measured.

    `unrelated` is that of texts that have nothing to do with each other, `alike` that of a passage that answers, and
    `between_languages` and `between_scripts` how much lower it is where the two are in different languages that are
    written in Latin letters, and in others.
    """

    unrelated: float
    alike: float
    between_languages: float = 0.0
    between_scripts: float = 0.0

    def usual(self, cosine: float, *, lowered: float = 0.0) -> float:
        """Give a cosine on the scale of the packaged model; `lowered` is what the languages have taken off it."""
        share = (cosine + lowered - self.unrelated) / (self.alike - self.unrelated)
        return USUAL_SCALE.unrelated + share * (USUAL_SCALE.alike - USUAL_SCALE.unrelated)


USUAL_SCALE: Final = CosineScale(0.2, 0.7)
"""That of the packaged model, on which all weights were chosen."""


class Model(NamedTuple):
    """What is known about the model that the cosines come from.

    `languages` are those that it understands, or None for all. Where nobody has measured its cosines, its `scale` is
    None, and they are only compared with each other.
    """

    languages: frozenset[str] | None
    scale: CosineScale | None

    def reads(self, language: str) -> bool:
        """Tell whether it knows the letters of a language, and so a part of the words at least."""
        return self.languages is None or language in self.languages or has_latin_letters(language)

    def usual(self, cosine: float, *, lowered: float = 0.0) -> float:
        """Give a cosine on the scale of the packaged model, or as it is where its own is not known.

        `lowered` is what the languages of the two texts have taken off it.
        """
        if self.scale is None or self.scale == USUAL_SCALE:
            return cosine
        return self.scale.usual(cosine, lowered=lowered)


EMBEDDED_MODEL: Final = Model(frozenset({"english"}), USUAL_SCALE)
MULTILINGUAL_MODEL: Final = Model(None, CosineScale(0.80, 0.92, between_languages=0.045, between_scripts=0.055))
OTHER_MODEL: Final = Model(None, None)


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
