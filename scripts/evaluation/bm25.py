"""Plain BM25 over the texts of files, as Lucene has it: what a ranking by words must not fall below.

Words are cut as the index cuts them and brought to their stems by Snowball; nothing else is done to them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from directory_indexer.relevance.analyzer import words
from directory_indexer.relevance.forms import stem_of
from directory_indexer.relevance.languages import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from directory_indexer.docstore.snapshot import Snapshot

_K1: Final = 1.2
_B: Final = 0.75
"""What Lucene's `BM25Similarity` takes."""

_DEPTH: Final = 100


class PlainBM25:
    """The texts of files, ready to be ranked for queries; `language` is the one whose endings are cut off."""

    def __init__(self, texts: Mapping[str, str], language: str) -> None:
        self._language = language
        self._postings: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._lengths: dict[str, int] = {}
        for path, text in texts.items():
            stems = self._stems(text)
            self._lengths[path] = len(stems)
            for stem, count in Counter(stems).items():
                self._postings[stem].append((path, count))
        self._usual_length = sum(self._lengths.values()) / max(len(self._lengths), 1)

    def ranked(self, query: str) -> list[str]:
        """Return the best files for a query, best first."""
        scores: dict[str, float] = defaultdict(float)
        for stem, n_times in Counter(self._stems(query)).items():
            postings = self._postings.get(stem, ())
            rarity = math.log(1 + (len(self._lengths) - len(postings) + 0.5) / (len(postings) + 0.5))
            for path, count in postings:
                length = 1 - _B + _B * self._lengths[path] / self._usual_length
                scores[path] += n_times * rarity * count / (count + _K1 * length)
        return sorted(scores, key=lambda path: (-scores[path], path))[:_DEPTH]

    def _stems(self, text: str) -> list[str]:
        return [stem_of(word, self._language) for word in words(text)]


def plain_bm25(snapshot: Snapshot) -> PlainBM25:
    """Read the texts of an index, in the language that most of its documents are in."""
    languages = [NAMES[code] for code in snapshot.words.languages if code in NAMES]
    texts = {
        path: "\n".join(stored.chunk.text for stored in snapshot.chunks.of_file(path))
        for path in snapshot.files.paths()
    }
    return PlainBM25(texts, languages[0] if languages else "english")
