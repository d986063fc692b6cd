"""A Qdrant server keeps of a chunk its vector, where it lies and whose it is: never a text."""

from __future__ import annotations

import uuid

import numpy as np

from directory_indexer.core.ids import chunk_id_of
from directory_indexer.core.paths import file_path
from directory_indexer.storage.vectors import VectorPoint
from directory_indexer.storage.vectors.connection import CollectionPlan, QdrantAddress, QdrantConnection
from directory_indexer.storage.vectors.server import IndexPoints

OURS, THEIRS = "0e9a6f0c-3d5a-4f0e-9b55-1a2b3c4d5e6f", "7c1d2e3f-4a5b-4c6d-8e9f-0a1b2c3d4e5f"
CHUNK_ID = chunk_id_of("11111111-2222-5333-8444-555555555555")


def points_of(index_id: str) -> IndexPoints:
    connection = QdrantConnection(QdrantAddress("http://localhost:1"))  # which nothing opens
    return IndexPoints(connection, CollectionPlan("points"), index_id=index_id, dimensions=4)


def test_a_point_has_tags_of_its_place_and_nothing_else() -> None:
    root, path = file_path("/home/docs"), file_path("/home/docs/sub/a.md")
    below = file_path("/home/docs/sub")
    vector = np.ones(4, np.float32).tobytes()

    point = points_of(OURS).point_of(VectorPoint(CHUNK_ID, path, (root, below), vector))

    assert point.payload == {
        "index": OURS,
        "chunk_id": "11111111-2222-5333-8444-555555555555",
        "file_path": "/home/docs/sub/a.md",
        "parent_directories": ["/home/docs", "/home/docs/sub"],
    }
    assert point.vector == [1.0] * 4


def test_the_id_of_a_point_is_a_uuid_of_version_5_and_that_of_one_index_alone() -> None:
    (ours,), (again,), (theirs,) = (points_of(index).ids_of([CHUNK_ID]) for index in (OURS, OURS, THEIRS))
    assert ours == again != theirs
    assert uuid.UUID(str(ours)).version == 5
