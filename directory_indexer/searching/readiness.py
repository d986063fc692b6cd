"""Preconditions of a search, and warnings about missing vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import IndexMismatchError, NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.notes import Note, NoteKind
from directory_indexer.paths import FilePath, display

with lazily:
    from directory_indexer.searching.scope import Scope
    from directory_indexer.searching.vector_making import VectorMaking


def require_indexed(snapshot: Snapshot, scope: tuple[FilePath, ...]) -> None:
    """Raise an error if nothing was ever indexed there, instead of returning no hits.

    Raises:
        NotIndexedError: no directory is tracked, or none that overlaps the scope.
    """
    tracked = snapshot.directories.all()
    if not tracked:
        raise NotIndexedError("nothing is indexed yet", hint="dirindex index PATH adds a directory")
    for path in scope:
        if not snapshot.files.holds(path):
            names = ", ".join(map(display, tracked))
            raise NotIndexedError(f"nothing is indexed at {display(path)}", hint=f"indexed directories: {names}")


def require_comparable(snapshot: Snapshot, n_dimensions: int) -> None:
    """Raise an error if the vectors of the index have another number of dimensions.

    Raises:
        IndexMismatchError: the numbers differ.
    """
    space = snapshot.vector_sets.answering().space
    if space is not None and space.dimensions != n_dimensions:
        raise IndexMismatchError(
            f"the index holds vectors of {space.dimensions} dimensions, and {space.name} makes {n_dimensions} now",
            hint="configure the model that made the index; dirindex doctor tells more",
        )


def embedding_warnings(
    snapshot: Snapshot, scopes: Sequence[Scope], making: VectorMaking | None = None
) -> Iterator[Note]:
    """Yield warnings on passages of these scopes without vectors, and on those embedded during the search."""
    former = snapshot.vector_sets.former()
    if former is not None and former.space is not None:
        # The new vectors answer once every chunk of the index has one.
        n_waiting, n_total = snapshot.embedding_queue.count(), snapshot.chunks.count()
        status = f"{n_waiting:,} of all {n_total:,} passages {'wait' if n_waiting > 1 else 'waits'}"
        note = f"{status} to be embedded again; until then {former.space.name} answers"
        yield Note(note, NoteKind.EMBEDDING)
        return
    holders = _holders(scopes)
    if n_waiting := snapshot.chunks.count_waiting(holders):
        n_chunks = snapshot.chunks.count_held(holders)
        passages = "the passages there" if n_chunks is None else f"{n_chunks:,} passage{'s' if n_chunks > 1 else ''}"
        are = "are" if n_waiting > 1 else "is"
        note = f"{n_waiting:,} of {passages} {are} not embedded yet: {_searchable_so_far(making)}"
        yield Note(note, NoteKind.EMBEDDING, key=f"not all of {passages} are embedded yet")


def _holders(scopes: Sequence[Scope]) -> frozenset[int] | None:
    """Return the files that hold the texts of scopes; None for all files."""
    parts = [scope.holder_ids for scope in scopes if scope.holder_ids is not None]
    return frozenset().union(*parts) if len(parts) == len(scopes) else None


def _searchable_so_far(embedder: VectorMaking | None) -> str:
    if embedder is None or not embedder.embedded:
        return "they are found by words alone"
    n_others = len(embedder.not_embedded - embedder.embedded)
    were = "was" if len(embedder.embedded) == 1 else "were"
    rest = f", and {n_others} by words alone" if n_others else ""
    return f"{len(embedder.embedded)} of them {were} judged by meaning for this question{rest}"
