"""Programs that read an index on a full file system in memory, and write to standard output what comes of it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vectors import points

from directory_indexer.core.errors import StoreError
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSIONS = 32


def read_vectors(place: Path, mounted: Path) -> Callable[[], object]:
    written = Generations(place / "written")
    generation = EmbeddedVectorStore(written, dimensions=DIMENSIONS).merge(
        0, deletes=(), upserts=points(range(20), dimensions=DIMENSIONS)
    )
    written.copy_to(generation, mounted)
    store = EmbeddedVectorStore(Generations(mounted), dimensions=DIMENSIONS)
    return lambda: list(store.open_generation(generation).ids())


def read_database(_: Path, mounted: Path) -> Callable[[], object]:
    path = mounted / "data.db"
    DocStore(path).close()

    def read() -> None:
        with DocStore(path).snapshot() as snapshot:
            snapshot.directories.all()

    return read


def main(role: str, place: Path) -> None:
    mounted, filler = place / "mounted", place / "mounted" / "filler"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "test", mounted], check=True)
    read = {"vectors": read_vectors, "database": read_database}[role](place, mounted)
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    try:
        read()
    except StoreError as error:
        sys.stdout.write(f"{type(error).__name__}: {error.message}; {error.hint}\n")
    filler.unlink()
    read()
    sys.stdout.write("read\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
