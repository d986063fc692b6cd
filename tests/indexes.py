"""An index over a directory of a test, with both stores for real and a stand-in for the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from fakes import FakeEmbedder
from page_engines import FakeEngine, FakeReading

from directory_indexer.app import App
from directory_indexer.chunking import ChunkPolicy
from directory_indexer.config import load_config
from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import ProviderError
from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.embedding.loading import Embedders, ServiceAccess
from directory_indexer.embedding.wordpiece import count_tokens
from directory_indexer.formats.extraction import extract
from directory_indexer.indexing.background_runs import ReadingProcess
from directory_indexer.indexing.indexer import Indexer
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.ocr.engine_selection import OcrSettings
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.search.requests import SearchRequest
from directory_indexer.storage.vector_stores import VectorStores
from directory_indexer.storage.vectors import VectorPlace
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations
from directory_indexer.walk import WalkPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from directory_indexer.core.fingerprint import EmbeddingSpace
    from directory_indexer.core.paths import FilePath
    from directory_indexer.embedding import Embedder
    from directory_indexer.formats.document import Document
    from directory_indexer.indexing.report import IndexReport
    from directory_indexer.parsing.tasks import Limits
    from directory_indexer.search.requests import Hit
    from directory_indexer.storage.documents.runs import Outcome, RunProgress
    from directory_indexer.storage.documents.store import DocStore
    from directory_indexer.storage.documents.vector_sets import VectorSet
    from directory_indexer.storage.vectors import VectorStore

FINGERPRINT = Fingerprint(embedding="fake/bag-of-words", chunking="64/8", extraction="1", analysis="1")

OCR_OFF = OcrSettings(engine="off")


class Rounded:
    """A vector that may have gone through a store, which keeps it nearly as it was."""

    def __init__(self, vector: NDArray[np.float32]) -> None:
        self.vector = vector

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rounded) and np.allclose(self.vector, other.vector, atol=0.01)

    def __repr__(self) -> str:
        return repr(self.vector.round(2).tolist())

    __hash__ = None  # type: ignore[assignment]  # what is nearly equal has no hash


class _Embedders(Embedders):
    """The embedders of a test, which may change from one run to the next."""

    def __init__(self, index: Index) -> None:
        super().__init__(index.embedder.space, ServiceAccess())
        self._index = index

    def of(self, space: EmbeddingSpace | None) -> Embedder:
        return self._index.embedder_of(space)

    def current(self) -> Embedder:
        return self._index.embedder_of(None)


class _Stores(VectorStores):
    """The vector stores of a test."""

    def __init__(self, index: Index) -> None:
        super().__init__(index.app.loaded.config.storage.qdrant, docstore=lambda: index.docstore, dimensions=1)
        self._index = index

    @property
    def place(self) -> VectorPlace:
        return self._index.vectorstore.place

    def store_of(self, vector_set: VectorSet) -> VectorStore:
        return self._index.store_of(vector_set)


class NoReading(ReadingProcess):
    """A process for changed files that cannot be started, as in most tests."""

    def __init__(self) -> None:
        super().__init__(())

    def start(self, directories: Sequence[FilePath]) -> bool:
        return not directories


@dataclass
class Index:
    """One index and the verbs that tests need, with answers that can be compared."""

    root: Path
    data_dir: Path
    fingerprint: Fingerprint = FINGERPRINT
    max_file_size: int = 100_000
    include_secrets: bool = False
    ignore_patterns: tuple[str, ...] = ()
    git_history: str = ""
    limits: Limits | None = None
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    progress: list[RunProgress] = field(default_factory=list)
    provider: Embedder | None = None
    """What embeds instead of `embedder`."""
    former_embedders: dict[str, Embedder] = field(default_factory=dict)

    embedding: EmbeddingMode = EmbeddingMode.COMPLETE
    ocr: OcrSettings = OCR_OFF
    pages: FakeEngine | None = None
    """What reads scanned pages, instead of what `ocr` names."""

    extract: Callable[[bytes, FilePath], Document] = extract
    open_vectorstore: Callable[[DocStore], VectorStore] | None = None
    """What opens another vector store than the embedded one."""

    def __post_init__(self) -> None:
        loaded = load_config(file=None, data_dir=self.data_dir, environ={})
        indexing = loaded.config.indexing._replace(embedding=self.embedding.value)
        self.app = App(loaded._replace(config=loaded.config._replace(indexing=indexing)))
        self.docstore = self.app.docstore
        self.vectorstore = (self.open_vectorstore or self._embedded)(self.docstore)
        self._other_stores: dict[VectorSet, VectorStore] = {}
        self.app.runs.reading_process = NoReading()
        self.app.vectors.stores = _Stores(self)
        self.app.embedders = _Embedders(self)
        self.app.policies.ocr = self.ocr
        if self.pages:
            self.app.runs.page_reading = FakeReading(self.pages, lambda: self.parse_policy)
        self.vectorizer = self.app.vectors.vectorizer
        self.nearest = self.app.vectors.nearest
        self.searcher = self.app.searcher

    def _embedded(self, _: DocStore) -> VectorStore:
        return self._open_store("test", self._embedder().space.dimensions)

    def _embedder(self) -> Embedder:
        return self.provider or self.embedder

    def embedder_of(self, space: EmbeddingSpace | None) -> Embedder:
        now = self._embedder()
        if space is None or space.name == now.space.name:
            return now
        if space.name not in self.former_embedders:
            raise ProviderError(f"{space.name} cannot be had any more")
        return self.former_embedders[space.name]

    def store_of(self, vector_set: VectorSet) -> VectorStore:
        if not vector_set.suffix:
            return self.vectorstore
        if vector_set not in self._other_stores:
            dimensions = vector_set.space.dimensions if vector_set.space else 1
            self._other_stores[vector_set] = self._open_store(f"test{vector_set.suffix}", dimensions)
        return self._other_stores[vector_set]

    def _open_store(self, name: str, dimensions: int) -> VectorStore:
        return EmbeddedVectorStore(Generations(self.data_dir / "qdrant" / name), dimensions=dimensions)

    @property
    def reads_pages(self) -> bool:
        return self.pages is not None or self.ocr.engine != "off"

    @property
    def parse_policy(self) -> ParsePolicy:
        return ParsePolicy(
            max_file_size=self.max_file_size,
            include_secrets=self.include_secrets,
            chunking=ChunkPolicy(size=64, overlap=8),
            count_tokens=count_tokens,
            extract=None if self.reads_pages else self.extract,
            limits=self.limits,
            recognised=self.app.policies.page_cache if self.reads_pages else None,
            members=WalkPolicy(ignore_patterns=self.ignore_patterns, include_secrets=self.include_secrets),
            git_history=self.git_history,
        )

    @property
    def indexer(self) -> Indexer:
        app = self.app
        app.policies.walk = WalkPolicy(
            ignore_patterns=self.ignore_patterns,
            include_secrets=self.include_secrets,
            max_file_size=self.max_file_size,
            streamed=(".zip", ".tar", ".mkv"),
            git_history=self.git_history,
        )
        app.policies.parse, app.policies.fingerprint = self.parse_policy, self.fingerprint
        vars(app.policies).pop("index", None)
        vars(app.runs).pop("indexer", None)
        return app.runs.indexer

    def run(
        self,
        *paths: Path,
        options: IndexOptions | None = None,
        stop_reason: Callable[[], Outcome | None] = lambda: None,
    ) -> IndexReport:
        self.embedder.embedded.clear()
        return self.indexer.index(
            [str(path) for path in paths or (self.root,)],
            options=options or IndexOptions(wait=False),
            listener=self.progress.append,
            stop_reason=stop_reason,
        )

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_bytes(self, name: str, content: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def request(self, query: str, **options: object) -> SearchRequest:
        return SearchRequest(query, **options)  # type: ignore[arg-type]

    def search(self, query: str, **options: object) -> tuple[Hit, ...]:
        return self.searcher.search(self.request(query, **options)).hits

    def names(self, query: str, **options: object) -> list[str]:
        """Name the files of an answer that have anything in common with the query, in their order, each once."""
        paths = [hit.path for hit in self.search(query, **options) if hit.score > 0]
        return list(dict.fromkeys(str(path).removeprefix(f"{self.root}/") for path in paths))

    def contents(self) -> dict[str, object]:
        """Give all that a search can see, so that two indexes can be compared: texts, places, words and vectors."""
        with self.docstore.snapshot() as snapshot:
            contents: dict[str, object] = {}
            for directory in snapshot.directories.all():
                for path, known in snapshot.files.records_within(directory).items():
                    chunks = snapshot.chunks.of_file(path)
                    vectors = self.nearest.vectors(snapshot, [chunk.chunk_id for chunk in chunks])
                    contents[path.removeprefix(directory)] = (
                        known.state,
                        known.reason,
                        known.hash,
                        [chunk.chunk for chunk in chunks],
                        [Rounded(vectors[chunk.chunk_id]) for chunk in chunks if chunk.chunk_id in vectors],
                    )
            contents["words"] = snapshot.words.count_rows()
            return contents

    def close(self) -> None:
        for store in (self.vectorstore, *self._other_stores.values()):
            store.close()
