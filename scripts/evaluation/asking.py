"""Indexes a corpus with the installed command, and asks its searcher what the set asks."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.paths import os_path, resolved_path
from directory_indexer.ranking.analyzer import words
from directory_indexer.ranking.languages import NAMES
from directory_indexer.ranking.word_forms import stem_of
from directory_indexer.search.requests import SearchMode, SearchRequest
from evaluation.measures import of_files, of_hits, of_spans, of_targets
from evaluation.sets import Span, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from directory_indexer.chunking.chunks import Chunk
    from directory_indexer.search.requests import SearchResult
    from directory_indexer.storage.documents.store import Snapshot
    from evaluation.sets import Question

_DEEP = 100
"""So many hits count for recall; their order does not depend on how many are asked for."""

_K1: Final = 1.2
_B: Final = 0.75
"""The defaults of Lucene's `BM25Similarity`."""


class IndexedCorpus:
    """A corpus, or one repository of it, indexed with default settings in a data directory of its own.

    With another `embedding` its chunks may wait for their vectors, and a search may spend `seconds` on them. `model` is
    another one that embeds in the process.
    """

    def __init__(
        self,
        corpus: Path,
        root: Path,
        data_dir: Path,
        *,
        embedding: str = "complete",
        seconds: float = 0.0,
        model: str | None = None,
    ) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        settings = data_dir / "config.json"
        settings.write_text(json.dumps({"indexing": {"embedding": embedding}, "embedding": {"model": model}}))
        command = (sys.executable, "-m", "directory_indexer", "index", str(root), "--data-dir", str(data_dir), "--yes")
        done = subprocess.run((*command, "--quiet", "--config", str(settings)), check=False)  # noqa: S603 - words of ours
        if done.returncode not in {0, 1}:
            sys.exit(f"{root} could not be indexed")
        self._corpus = os.path.realpath(corpus)
        self._seconds = seconds
        self._app = App(load_config(file=settings, data_dir=data_dir, environ={}))
        self.left_out = self._left_out(root)
        self._ask("warm up", SearchMode.HYBRID, limit=1)

    @property
    def app(self) -> App:
        """The application that searches the index."""
        return self._app

    def measure_paths(self, question: Question, paths: Iterable[str]) -> dict[str, float]:
        """Measure an answer that something else gave, by the paths of its passages."""
        return of_files(list(dict.fromkeys(map(self._name, paths))), question.grades)

    def measure_plain(self, questions: Sequence[Question]) -> list[dict[str, float]]:
        """Measure the answers of plain BM25 over the texts of the index."""
        with self._app.docstore.snapshot() as snapshot:
            bm25 = plain_bm25(snapshot)
        return [self.measure_paths(question, bm25.ranked(question.text)) for question in questions]

    def close(self) -> None:
        """Release files and memory."""
        self._app.close()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Write all the time, so that searches cannot keep what they embed."""
        with self._app.docstore.transaction():
            yield

    def measure(self, question: Question, mode: SearchMode) -> dict[str, float]:
        """Ask a question and measure the answer; times are in milliseconds, of the clock and of the processor."""
        times = self.measure_first_hits(question, mode)
        hits = self._ask(question.text, mode, limit=10, only_good=True)
        result = self._ask(question.text, mode, limit=_DEEP)
        files = [self._name(hit.path) for hit in result.hits]
        measures = of_files(list(dict.fromkeys(files)), question.grades) | of_hits(files, question.grades)
        if question.spans:
            unit = question.spans[0].unit
            measures |= of_spans([place[unit] for place in self._places(hits) if unit in place], question.spans)
        if question.targets:
            measures |= of_targets(self._places(result), question.targets)
        files = list(dict.fromkeys(self._name(hit.path) for hit in hits.hits))
        measures["shown R@10"] = of_files(files, question.grades)["R@10"]
        measures["shown"] = float(len(hits.hits))
        return measures | {"missed": float(result.is_weak)} | {name: times[name] for name in ("ms", "CPU ms")}

    def measure_first_hits(self, question: Question, mode: SearchMode) -> dict[str, float]:
        """Ask a question once, for ten hits, and measure those."""
        clock, processor = time.perf_counter(), time.process_time()
        result = self._ask(question.text, mode, limit=10)
        times = {"ms": (time.perf_counter() - clock) * 1e3, "CPU ms": (time.process_time() - processor) * 1e3}
        files = [self._name(hit.path) for hit in result.hits]
        return of_files(list(dict.fromkeys(files)), question.grades) | times

    def first_place(self, text: str, mode: SearchMode) -> tuple[str, int]:
        """Return the path and the line of the first hit; nothing and 0 where there is none."""
        hits = self._ask(text, mode, limit=10, only_good=True).hits
        return (os_path(hits[0].path), hits[0].excerpt.line or 0) if hits else ("", 0)

    def is_answered(self, text: str, mode: SearchMode) -> bool:
        """Whether the searcher claims to have found something good."""
        return not self._ask(text, mode, limit=10).is_weak

    def best_score(self, text: str, mode: SearchMode) -> float:
        """Return the score of the best hit; 0 where there is none."""
        return max((hit.score for hit in self._ask(text, mode, limit=10).hits), default=0.0)

    def _left_out(self, root: Path) -> tuple[str, ...]:
        """Name the files of the corpus that are not in the index, as judgements do."""
        with self._app.docstore.snapshot() as snapshot:
            indexed = set(map(self._name, snapshot.files.paths()))
        there = {
            self._relative(os.path.join(directory, name)) for directory, _, names in os.walk(root) for name in names
        }
        return tuple(sorted(there - indexed))

    def _ask(self, text: str, mode: SearchMode, *, limit: int, only_good: bool = False) -> SearchResult:
        request = SearchRequest(text, mode=mode, limit=limit, only_good=only_good, embedding_seconds=self._seconds)
        return self._app.searcher.search(request)

    def _places(self, result: SearchResult) -> list[dict[Unit, Span]]:
        """Return for each hit where it stands, in every unit that its file has."""
        with self._app.docstore.snapshot() as snapshot:
            chunks = snapshot.chunks.by_id([hit.chunk_id for hit in result.hits])
        return [_places_of(self._name(hit.path), chunks[hit.chunk_id].chunk) for hit in result.hits]

    def _name(self, path: str) -> str:
        return self._relative(os_path(resolved_path(path)))

    def _relative(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(path), self._corpus).replace(os.sep, "/")


def _places_of(file: str, chunk: Chunk) -> dict[Unit, Span]:
    places = {
        Unit.CHARACTERS: Span(file, chunk.start_char, chunk.end_char),
        Unit.LINES: Span(file, chunk.start_line, chunk.end_line + 1, Unit.LINES),
    }
    if chunk.page is not None:
        places[Unit.PAGES] = Span(file, chunk.page, chunk.page + 1, Unit.PAGES)
    return places


class PlainBM25:
    """BM25 as Lucene has it over the texts of files: what a ranking by words must not fall below.

    Words are cut as the index cuts them and reduced to their Snowball stems in `language`.
    """

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
        return sorted(scores, key=lambda path: (-scores[path], path))[:_DEEP]

    def _stems(self, text: str) -> list[str]:
        return [stem_of(word, self._language) for word in words(text)]


def plain_bm25(snapshot: Snapshot) -> PlainBM25:
    """Return BM25 over the texts of an index, in the language of most of its documents."""
    languages = [NAMES[code] for code in snapshot.words.languages if code in NAMES]
    texts = {
        path: "\n".join(stored.chunk.text for stored in snapshot.chunks.of_file(path))
        for path in snapshot.files.paths()
    }
    return PlainBM25(texts, languages[0] if languages else "english")
