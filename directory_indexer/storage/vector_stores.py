"""Vector stores of an index: one for each vector set, in the process or on a Qdrant server.

The embedded engine has its sets on disk: the one in use, and those that a switch fills or leaves.
"""

from __future__ import annotations

import contextlib
import glob
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from directory_indexer.config.services import QdrantConfig, Quantization
from directory_indexer.core.errors import VectorsLostError, VectorStoreError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.machine import translate_import_errors
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.documents.vector_sets import VectorSet
from directory_indexer.storage.vectors import VectorPlace, VectorStore

with lazily:
    from directory_indexer.storage.vectors.connection import CollectionPlan, QdrantAddress, QdrantConnection
    from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
    from directory_indexer.storage.vectors.generations import Generations
    from directory_indexer.storage.vectors.server import ServerVectorStore


class VectorStores:
    """The stores of one index; threads may share them.

    `dimensions` is the size of new vectors, 0 while only the provider knows it.
    """

    def __init__(self, qdrant: QdrantConfig, *, docstore: Callable[[], DocStore], dimensions: int) -> None:
        self._qdrant = qdrant
        self._docstore = docstore
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self.on_disk = EmbeddedVectorSets(qdrant.path, qdrant.collection)
        self._open: dict[VectorSet, VectorStore] = {}

    @property
    def place(self) -> VectorPlace:
        """Return the configured place of the vectors."""
        return VectorPlace.SERVER if self._qdrant.endpoint else VectorPlace.EMBEDDED

    def store_of(self, vector_set: VectorSet) -> VectorStore:
        """Return the open store of a vector set; at most two stay open, since readers keep a former one on disk.

        Raises:
            VectorStoreError: the library of the store cannot be loaded.
        """
        with self._lock:
            if vector_set not in self._open:
                while len(self._open) > 1:
                    self._open.pop(next(iter(self._open))).close()
                endpoint = self._qdrant.endpoint
                opened = self.on_server(vector_set, endpoint) if endpoint else self.embedded(vector_set)
                self._open[vector_set] = opened
            return self._open[vector_set]

    def embedded(self, vector_set: VectorSet) -> VectorStore:
        """Open the embedded store of a vector set, wherever the vectors are configured to be."""
        with translate_import_errors("the vector engine", VectorStoreError):
            generations = Generations(self.on_disk.path / self.name_of(vector_set))
            return EmbeddedVectorStore(generations, dimensions=self._dimensions_of(vector_set))

    def on_server(self, vector_set: VectorSet, url: str) -> VectorStore:
        """Open the store of a vector set on a Qdrant server."""
        connection, plan = connect_to_qdrant(self._qdrant, url), collection_plan(self._qdrant, self.name_of(vector_set))
        dimensions = self._dimensions_of(vector_set)
        return ServerVectorStore(connection, plan, index_id=self._docstore().index_id(), dimensions=dimensions)

    def name_of(self, vector_set: VectorSet) -> str:
        """Return the name of a vector set: of its Qdrant collection on a server, of its directory otherwise."""
        return self._qdrant.collection + vector_set.suffix

    def paths_not_directories(self) -> list[Path]:
        """Return paths where the embedded store expects a directory, and something else exists."""
        return self.on_disk.paths_not_directories() if self.place is VectorPlace.EMBEDDED else []

    def clear(self) -> None:
        """Remove the vectors of this index from a Qdrant server; those of other indexes stay.

        Raises:
            VectorStoreError: the server cannot be reached.
        """
        if self.place is VectorPlace.SERVER:
            with self._docstore().snapshot() as snapshot:
                sets = (snapshot.vector_sets.current(), snapshot.vector_sets.former(), snapshot.vector_sets.dropped())
            with contextlib.suppress(VectorsLostError):
                for vector_set in filter(None, sets):
                    self.store_of(vector_set).clear()

    def close(self) -> None:
        """Close all stores."""
        for store in self._open.values():
            store.close()

    def _dimensions_of(self, vector_set: VectorSet) -> int:
        # Nothing is stored before the provider has reported the length of its vectors.
        return vector_set.space.dimensions if vector_set.space else self._dimensions or 1


def connect_to_qdrant(qdrant: QdrantConfig, url: str) -> QdrantConnection:
    """Return the connection to a Qdrant server."""
    address = QdrantAddress(
        url=url,
        api_key=qdrant.api_key.get_secret_value() if qdrant.api_key else None,
        ca_file=qdrant.ca_file,
        grpc_port=qdrant.grpc_port,
        timeout_seconds=qdrant.timeout_seconds,
    )
    return QdrantConnection(address)


def collection_plan(qdrant: QdrantConfig, name: str) -> CollectionPlan:
    """Return the parameters of a Qdrant collection."""
    return CollectionPlan(
        name=name,
        shard_number=qdrant.shard_number,
        replication_factor=qdrant.replication_factor,
        write_consistency_factor=qdrant.write_consistency_factor,
        read_consistency=qdrant.read_consistency,
        quantization=Quantization(qdrant.quantization),
        on_disk=qdrant.on_disk,
    )


class EmbeddedVectorSets:
    """The vector sets in a directory whose names begin with that of the index."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self._name = name

    def size_bytes(self) -> int:
        """Return their size on disk."""
        return sum(Generations(path).size_bytes() for path in self._set_directories())

    def discard(self) -> None:
        """Remove the vectors of all sets that are not being read."""
        for path in self._set_directories():
            Generations(path).discard_others(0)

    def paths_not_directories(self) -> list[Path]:
        """Return paths where a directory is expected, and something else exists."""
        paths = (self.path, *(path for path in self._set_directories() if ".damaged-" not in path.name))
        return [path for path in paths if os.path.lexists(path) and not path.is_dir()]

    def _set_directories(self) -> Iterator[Path]:
        return self.path.glob(f"{glob.escape(self._name)}*")
