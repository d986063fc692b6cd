"""Chunks with vectors, files and directories that follow from their number alone, and the exact answers over them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.vectors import VectorPoint, VectorScope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

ROOT = "/home/somebody/notes"
_CENTRES = 40


def chunk_id(number: int) -> ChunkId:
    return ChunkId(((number + 1) << 64 | 8 << 60).to_bytes(16))


def unit_vectors(numbers: Iterable[int], *, dimensions: int) -> NDArray[np.float32]:
    """Vectors of length 1 around a few centres, as texts about a few subjects have them."""
    rows = [_unit_vector(number, dimensions) for number in numbers]
    return np.array(rows, np.float32).reshape(-1, dimensions)


def points(numbers: Iterable[int], *, dimensions: int) -> list[VectorPoint]:
    """Three chunks a file, ten files a directory, and every third directory deep in the one before."""
    numbers = list(numbers)
    vectors = unit_vectors(numbers, dimensions=dimensions)
    return [
        VectorPoint(chunk_id(number), _path(number), _parents(_path(number)), vector.tobytes())
        for number, vector in zip(numbers, vectors, strict=True)
    ]


class Corpus:
    """Points, and what an exact search over them finds."""

    def __init__(self, of: list[VectorPoint]) -> None:
        self.points = of
        self._matrix = np.array([np.frombuffer(point.vector, np.float32) for point in of])

    def scores(self, query: NDArray[np.float32], *, scope: VectorScope) -> dict[ChunkId, float]:
        """Compare the query with every vector in the scope, best first."""
        scores = self._matrix @ query
        inside = [index for index in np.argsort(-scores) if _is_inside(self.points[index], scope)]
        return {self.points[index].chunk_id: float(scores[index]) for index in inside}


@functools.cache
def _unit_vector(number: int, dimensions: int) -> NDArray[np.float32]:
    centre = np.random.default_rng(number % _CENTRES).standard_normal(dimensions)
    row = centre + np.random.default_rng([number, 1]).standard_normal(dimensions)
    return (row / np.linalg.norm(row)).astype(np.float32)


def _is_inside(point: VectorPoint, scope: VectorScope) -> bool:
    if not scope.directories and not scope.files:
        return True
    return point.file_path in scope.files or not set(scope.directories).isdisjoint(point.parent_directories)


def _path(number: int) -> FilePath:
    directory = number // 30
    deep = f"d{directory}" if directory % 3 else f"d{directory + 1}/deep/er/d{directory}"
    return FilePath(f"{ROOT}/{deep}/f{number // 3}.md")


def _parents(path: FilePath) -> tuple[FilePath, ...]:
    parts = path.removeprefix(f"{ROOT}/").split("/")[:-1]
    return tuple(FilePath("/".join([ROOT, *parts[:depth]])) for depth in range(len(parts) + 1))


EVERYWHERE = VectorScope()

SCOPES = {
    "everything": EVERYWHERE,
    "the root": VectorScope(directories=(FilePath(ROOT),)),
    "a directory": VectorScope(directories=(FilePath(f"{ROOT}/d2"),)),
    "what lies around a deep directory": VectorScope(directories=(FilePath(f"{ROOT}/d4/deep"),)),
    "a deep directory": VectorScope(directories=(FilePath(f"{ROOT}/d4/deep/er/d3"),)),
    "two directories": VectorScope(directories=(FilePath(f"{ROOT}/d1"), FilePath(f"{ROOT}/d5"))),
    "a file": VectorScope(files=(FilePath(f"{ROOT}/d1/f13.md"),)),
    "many files": VectorScope(files=tuple(point.file_path for point in points(range(0, 300, 7), dimensions=1))),
    "a directory and a file elsewhere": VectorScope((FilePath(f"{ROOT}/d2"),), (FilePath(f"{ROOT}/d1/f13.md"),)),
    "a directory whose name starts like another": VectorScope(directories=(FilePath(f"{ROOT}/d"),)),
    "a file taken for a directory": VectorScope(directories=(FilePath(f"{ROOT}/d1/f13.md"),)),
}
