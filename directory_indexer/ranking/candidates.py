"""Input and output of ranking: candidate passages, and the explanation of a hit with its score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.languages import has_latin_letters

DEPTH: Final = 40
"""The number of candidates from each list, by words and by meaning."""


class CosineScale(NamedTuple):
    """Calibration of the cosines of a model, as measured.

    `unrelated` is the cosine of unrelated texts, `alike` that of a relevant passage. `between_languages` and
    `between_scripts` are how much lower cosines are between different languages: both in Latin letters, or not.
    """

    unrelated: float
    alike: float
    between_languages: float = 0.0
    between_scripts: float = 0.0

    def usual(self, cosine: float, *, lowered: float = 0.0) -> float:
        """Return a cosine on the scale of the packaged model; `lowered` is the loss between different languages."""
        share = (cosine + lowered - self.unrelated) / (self.alike - self.unrelated)
        return REFERENCE_SCALE.unrelated + share * (REFERENCE_SCALE.alike - REFERENCE_SCALE.unrelated)


REFERENCE_SCALE: Final = CosineScale(0.2, 0.7)
"""The scale of the packaged model, on which all weights were chosen."""


class Model(NamedTuple):
    """Properties of the model that made the vectors.

    `languages` are those that it understands, or None for all. `scale` is None where its cosines were never measured;
    they are then only compared with each other.
    """

    languages: frozenset[str] | None
    scale: CosineScale | None

    def reads(self, language: str) -> bool:
        """Whether the model knows the letters of a language, and so at least some of its words."""
        return self.languages is None or language in self.languages or has_latin_letters(language)

    def usual(self, cosine: float, *, lowered: float = 0.0) -> float:
        """Return a cosine on the scale of the packaged model, or unchanged if that of its own model is unknown.

        `lowered` is the loss between the languages of the two texts.
        """
        if self.scale is None or self.scale == REFERENCE_SCALE:
            return cosine
        return self.scale.usual(cosine, lowered=lowered)


EMBEDDED_MODEL: Final = Model(frozenset({"english"}), REFERENCE_SCALE)
MULTILINGUAL_MODEL: Final = Model(None, CosineScale(0.80, 0.92, between_languages=0.045, between_scripts=0.055))
OTHER_MODEL: Final = Model(None, None)


class Candidate(NamedTuple):
    """A passage from the keyword list, the semantic list or both, with what ranking needs to know about it.

    The scores are those of the lists; `cosine` is set for every passage that has a vector. Passages of a later `band`
    rank after all of an earlier one, and are scored among themselves.
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
    """The language of its file, as the first part of a BCP 47 tag; "" if it is unknown."""
    beside: tuple[str, ...] = ()
    """The other passages of its file, if they are few."""


def tie_breaker(candidate: Candidate) -> tuple[str, int]:
    """Return the position of a passage, which breaks ties."""
    return candidate.path, candidate.ordinal


class Excerpt(NamedTuple):
    """The part of a chunk that matched, with the (start, end) offsets of the matching words in it.

    `best_line` is the definition that the query names, else the line that matches most of the query; None for the
    first.
    """

    text: str
    start_line: int
    end_line: int
    marks: tuple[tuple[int, int], ...] = ()
    best_line: int | None = None

    @property
    def line(self) -> int:
        """The line to point at."""
        return self.best_line or self.start_line


class Explanation(NamedTuple):
    """Why a hit stands where it does; null where a list does not have it."""

    keyword_rank: Annotated[int | None, "Rank by words, from 1."]
    keyword_score: Annotated[float | None, "Score by words."]
    semantic_rank: Annotated[int | None, "Rank by meaning, from 1."]
    semantic_score: Annotated[float | None, "Score by meaning."]
    signals: Annotated[Mapping[str, float], "The parts that add up to the score ([ranking.md](ranking.md))."]

    def adding_up_to(self, score: float, digits: int) -> Explanation:
        """Return the explanation with signals that add up to the rounded score.

        The remainder goes to the signal that moved the hit, or to `place`: scores never rise in an answer.
        """
        if not self.signals:
            return self
        scale = self.signals.get(SCALE, 1.0)
        rest = next((name for name in _MOVING_SIGNALS if name in self.signals), "place")
        parts = {name: scale * value for name, value in self.signals.items() if name not in {SCALE, *_MOVING_SIGNALS}}
        parts[rest] = score - math.fsum(parts.values())
        rounded = {name: round(part, digits) + 0.0 for name, part in parts.items()}
        largest = max(rounded, key=lambda name: abs(rounded[name]))
        error = round(score, digits) - math.fsum(rounded.values())
        return self._replace(signals={**rounded, largest: round(rounded[largest] + error, digits)})


DEFINITION_SIGNAL: Final = "definition"
"""The signal of a passage that defines the name that was typed."""

_MOVING_SIGNALS: Final = ("name", "named_line", DEFINITION_SIGNAL)
"""The signals of hits that a name moved to where they are, whatever the others add up to."""

SCALE: Final = "scale"
"""The factor between the other signals and the score, which is beside them until they are shown."""

NO_EXPLANATION: Final = Explanation(None, None, None, None, {})
