"""What must be there before a question can be answered, and what is missing of it."""

from __future__ import annotations

from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import IndexMismatchError, NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display

with lazily:
    from directory_indexer.searching.vector_making import VectorMaking


def require_indexed(snapshot: Snapshot, scope: tuple[FilePath, ...]) -> None:
    """Refuse to answer "nothing" where nothing was ever indexed.

    Raises:
        NotIndexedError: no directory is tracked, or none that has to do with the scope.
    """
    tracked = snapshot.directories.all()
    if not tracked:
        raise NotIndexedError("nothing is indexed yet", hint="dirindex index PATH adds a directory")
    for path in scope:
        if not snapshot.files.holds(path):
            names = ", ".join(map(display, tracked))
            raise NotIndexedError(f"nothing is indexed at {display(path)}", hint=f"indexed directories: {names}")


def require_comparable(snapshot: Snapshot, n_dimensions: int) -> None:
    """Refuse to compare vectors of so many dimensions with shorter or longer ones.

    Raises:
        IndexMismatchError: those of the index have another number.
    """
    space = snapshot.vector_sets.answering().space
    if space is not None and space.dimensions != n_dimensions:
        raise IndexMismatchError(
            f"the index holds vectors of {space.dimensions} dimensions, and {space.name} makes {n_dimensions} now",
            hint="configure the model that made the index; dirindex doctor tells more",
        )


def coverage(snapshot: Snapshot, making: VectorMaking | None = None) -> tuple[str, ...]:
    """Say what cannot be found by meaning yet, if there is anything, and what was embedded for this question."""
    former, waiting, n_chunks = (
        snapshot.vector_sets.former(),
        snapshot.embedding_queue.count(),
        snapshot.chunks.count(),
    )
    if former is not None and former.space is not None:
        return (
            f"{waiting:,} of {n_chunks:,} chunks wait to be embedded again; until then {former.space.name} answers",
        )
    if not waiting:
        return ()
    chunks = f"chunk{'s' if n_chunks > 1 else ''} {'are' if waiting > 1 else 'is'}"
    missing = f"{waiting:,} of {n_chunks:,} {chunks} not embedded yet"
    if making is None or not making.judged:
        return (f"{missing}: they are found by words alone",)
    n_unjudged = len(making.unjudged - making.judged)
    rest = f", and {n_unjudged} by words alone" if n_unjudged else ""
    return (f"{missing}: {len(making.judged)} of them were judged by meaning for this question{rest}",)
