"""Indexes of corpora, and measures of what their searches find."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cheap import index_tree
from evaluation.measures import of_files, of_hits, of_spans, of_targets
from evaluation.rivals import Row
from evaluation.sets import Span, Unit

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.paths import os_path, resolved_path
from directory_indexer.ranking.analyzer import split_into_words
from directory_indexer.ranking.languages import NAMES
from directory_indexer.ranking.word_forms import stem_of
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.text.formatting import PathStyle
from directory_indexer.text.results import search_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.sets import Question

    from directory_indexer.chunking.chunks import Chunk
    from directory_indexer.search.requests import SearchResult
    from directory_indexer.storage.documents.store import Snapshot

_SECONDS: Final = 0.5
_DEEP: Final = 100
"""Depth of recall; the order of hits does not depend on the number requested."""

_K1: Final = 1.2
_B: Final = 0.75
"""The defaults of Lucene's `BM25Similarity`."""


def command_parser(name: str, doc: str | None, epilog: str, of: str) -> argparse.ArgumentParser:
    """Return an argument parser for trees or repositories, with a directory for their indexes."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(f"scripts/eval {name}", description=doc, epilog=epilog, formatter_class=form)
    kind, _, description = of.partition(": ")
    parser.add_argument("places", type=Path, nargs="+", metavar=kind.upper(), help=description)
    parser.add_argument("--data-dir", type=Path, help="where trees and indexes are kept from run to run")
    return parser


def open_index(tree: Path, data_dir: Path, **settings: dict[str, object]) -> App:
    """Update the index of a tree in this process, and open it."""
    data_dir.mkdir(parents=True, exist_ok=True)
    config = data_dir / "config.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    app = App(load_config(file=config, data_dir=data_dir, environ={}))
    index_tree(app, Path(os.path.realpath(tree)))
    return app


def search_tree(app: App, tree: Path, text: str, mode: SearchMode, limit: int) -> list[Row]:
    """Search, and return the rows that a pipe gets, with the time limit for embedding of a terminal."""
    root = os.path.realpath(tree)
    result = app.searcher.search(SearchRequest(text, mode=mode, limit=limit, embedding_seconds=_SECONDS))
    printed = search_rows(result, paths=PathStyle(working_directory=root)).splitlines(keepends=True)
    names = (os.path.relpath(os_path(resolved_path(hit.path)), root) for hit in result.hits)
    return [Row(name.replace(os.sep, "/"), line) for name, line in zip(names, printed, strict=True)]


class IndexedCorpus:
    """A corpus, or one repository of it, indexed with default settings in a data directory of its own.

    `model` is another one that embeds in the process.
    """

    def __init__(self, corpus: Path, root: Path, data_dir: Path, *, model: str | None = None) -> None:
        self._corpus = os.path.realpath(corpus)
        self.app = open_index(root, data_dir, indexing={"embedding": "complete"}, embedding={"model": model})
        self.left_out = self._left_out(root)
        self._ask("warm up", SearchMode.HYBRID, limit=1)

    def measure_plain(self, questions: Sequence[Question]) -> list[dict[str, float]]:
        """Measure the answers of plain BM25 over the texts of the index."""
        with self.app.docstore.snapshot() as snapshot:
            bm25 = PlainBM25(snapshot)
        paths = ((question, map(self._name, bm25.ranked(question.text))) for question in questions)
        return [of_files(list(dict.fromkeys(names)), question.grades) for question, names in paths]

    def close(self) -> None:
        """Release files and memory."""
        self.app.close()

    def measure(self, question: Question, mode: SearchMode) -> dict[str, float]:
        """Search for a question and measure the answer; wall-clock and processor time are in milliseconds."""
        clock, processor = time.perf_counter(), time.process_time()
        self._ask(question.text, mode, limit=10)
        times = {"ms": (time.perf_counter() - clock) * 1e3, "CPU ms": (time.process_time() - processor) * 1e3}
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
        return measures | {"shown": float(len(hits.hits)), "missed": float(result.is_weak)} | times

    def is_answered(self, text: str, mode: SearchMode) -> bool:
        """Whether the searcher reports a good match."""
        return not self._ask(text, mode, limit=10).is_weak

    def _left_out(self, root: Path) -> tuple[str, ...]:
        """Return the files of the corpus that are not in the index, with the names of the judgements."""
        with self.app.docstore.snapshot() as snapshot:
            indexed = set(map(self._name, snapshot.files.paths()))
        there = {
            self._relative(os.path.join(directory, name)) for directory, _, names in os.walk(root) for name in names
        }
        return tuple(sorted(there - indexed))

    def _ask(self, text: str, mode: SearchMode, *, limit: int, only_good: bool = False) -> SearchResult:
        request = SearchRequest(text, mode=mode, limit=limit, only_good=only_good)
        return self.app.searcher.search(request)

    def _places(self, result: SearchResult) -> list[dict[Unit, Span]]:
        """Return the location of each hit, in every unit that its file has; none of a file found by its name alone."""
        with self.app.docstore.snapshot() as snapshot:
            chunks = snapshot.chunks.by_id([hit.chunk_id for hit in result.hits])
        return [
            _places_of(self._name(hit.path), chunks[hit.chunk_id].chunk) if hit.chunk_id in chunks else {}
            for hit in result.hits
        ]

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
    """BM25 in Lucene's variant over the texts of an index, the lower bound for keyword ranking.

    Words are cut as the index cuts them and reduced to their Snowball stems in the language of most
    documents.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        languages = [NAMES[code] for code in snapshot.words.languages if code in NAMES]
        self._language = languages[0] if languages else "english"
        self._postings: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._lengths: dict[str, int] = {}
        for path in snapshot.files.paths():
            stems = self._stems("\n".join(stored.chunk.text for stored in snapshot.chunks.of_file(path)))
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
        return [stem_of(word, self._language) for word in split_into_words(text)]
