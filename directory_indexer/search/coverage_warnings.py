"""Warnings about files and passages that a search cannot find, and checks that an index can be searched.

Each warning has the command that lists the parts. Grep has them, too, and imports nothing that parses queries.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from directory_indexer.core.errors import IndexMismatchError, NotIndexedError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note, NoteKind, format_waiting
from directory_indexer.core.paths import FilePath, display, lies_in
from directory_indexer.storage.documents.incomplete_files import CoverageGap
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.formats.kinds import GROUPS, kind_for_alias
    from directory_indexer.ranking.query import Query
    from directory_indexer.search.on_demand_embedding import OnDemandEmbedder
    from directory_indexer.search.requests import SearchMode, SearchRequest
    from directory_indexer.search.scope import Scope, make_path_predicate


_NAMES_OF_REASONS: Final = {
    "failed": ("file that failed", "files that failed"),
    "too large": ("file too large", "files too large"),
    "encrypted": ("encrypted file", "encrypted files"),
    "no text": ("file without text", "files without text"),
    "waiting": ("scanned page that waits for OCR", "scanned pages that wait for OCR"),
    "unreadable": ("scanned page that OCR cannot read", "scanned pages that OCR cannot read"),
    "refused": ("passage that the provider refuses", "passages that the provider refuses"),
}
_NAMES_OF_REASONS_IF_WEAK: Final = {
    "binary": ("file of no known format", "files of no known format"),
    "secret": ("file left out as a secret", "files left out as secrets"),
    "broken link": ("broken link", "broken links"),
    "symbolic link": ("link that is not followed", "links that are not followed"),
    "not a regular file": ("file that is not regular", "files that are not regular"),
    "empty": ("empty file", "empty files"),
}
"""Usual in every tree, and relevant only to a search that finds nothing good."""


def scope_warnings(snapshot: Snapshot, request: SearchRequest, query: Query, *, is_weak: bool) -> Iterator[Note]:
    """Yield warnings on what no search can find within the scope of a request; more of them if no hit is good."""
    names = _reason_names(is_weak=is_weak, by_words=request.mode is SearchMode.KEYWORD)
    gaps = _gaps_in_scope(snapshot, names)
    if gaps:
        is_in_scope = make_path_predicate(snapshot, request, query)
        gaps = [gap for gap in gaps if is_in_scope(gap.path) and may_be_of_kind(gap.path, request, query)]
    yield from _format_warnings(
        gaps, names, [root for root in snapshot.left_out.unfinished_directories() if _is_in_scope(root, request)]
    )


def index_warnings(snapshot: Snapshot, *, is_weak: bool) -> Iterator[Note]:
    """Yield the same warnings for the whole index and a keyword search."""
    names = _reason_names(is_weak=is_weak, by_words=True)
    yield from _format_warnings(_gaps_in_scope(snapshot, names), names, snapshot.left_out.unfinished_directories())


def may_be_of_kind(path: FilePath, request: SearchRequest, query: Query) -> bool:
    """Whether a file may be of a requested kind; if its name does not show its kind, it may."""
    kinds = {*request.kinds, *query.required.kinds}
    kind = kind_for_alias(os.path.splitext(path)[1]) if kinds else None
    return kind is None or any(kind in (GROUPS.get(name.lower()) or {kind_for_alias(name)}) for name in kinds)


def _reason_names(*, is_weak: bool, by_words: bool) -> dict[str, tuple[str, str]]:
    names = {**_NAMES_OF_REASONS, **(_NAMES_OF_REASONS_IF_WEAK if is_weak else {})}
    if by_words:
        del names["refused"]
    return names


def _gaps_in_scope(snapshot: Snapshot, names: dict[str, tuple[str, str]]) -> list[CoverageGap]:
    return [gap for gap in snapshot.left_out.gaps(tuple(names)) if gap.reason in names]


def _format_warnings(
    gaps: Iterable[CoverageGap], names: dict[str, tuple[str, str]], unfinished: Iterable[FilePath]
) -> Iterator[Note]:
    if counted := list(_format_counts(gaps, names)):
        yield Note(f"missing here: {', '.join(counted)}", NoteKind.MISSING, "dirindex status -v names them")
    if roots := ", ".join(map(display, unfinished)):
        note = f"the first run over {roots} has not ended"
        yield Note(note, NoteKind.UNFINISHED, "dirindex status shows the progress")


def _format_counts(gaps: Iterable[CoverageGap], names: dict[str, tuple[str, str]]) -> Iterator[str]:
    counts = Counter[str]()
    for gap in gaps:
        counts[gap.reason] += gap.number
    for reason, (singular, plural) in names.items():
        if counts[reason]:
            yield f"{counts[reason]:,} {singular if counts[reason] == 1 else plural}"


def _is_in_scope(root: FilePath, request: SearchRequest) -> bool:
    return not request.scope or any(lies_in(root, path) or lies_in(path, root) for path in request.scope)


def require_indexed(snapshot: Snapshot, scope: tuple[FilePath, ...]) -> None:
    """Raise an error if nothing was ever indexed there, instead of returning no hits.

    Raises:
        NotIndexedError: no directory is tracked, or none that overlaps the scope.
    """
    tracked = snapshot.directories.all()
    if not tracked:
        raise NotIndexedError("nothing is indexed yet", hint="dirindex index PATH adds a directory")
    for path in scope:
        if not snapshot.files.covers(path):
            names = ", ".join(map(display, tracked))
            raise NotIndexedError(f"nothing is indexed at {display(path)}", hint=f"indexed directories: {names}")


def require_same_dimensions(snapshot: Snapshot, n_dimensions: int) -> None:
    """Raise an error if the vectors of the index have another number of dimensions.

    Raises:
        IndexMismatchError: the numbers differ.
    """
    space = snapshot.vector_sets.answering().space
    if space is not None and space.dimensions != n_dimensions:
        raise IndexMismatchError(
            f"the index holds vectors of {space.dimensions} dimensions, and {space.name} makes {n_dimensions} now",
            hint="configure the model that made the index; dirindex doctor shows more",
        )


def embedding_warnings(
    snapshot: Snapshot, scopes: Sequence[Scope], on_demand: OnDemandEmbedder | None = None
) -> Iterator[Note]:
    """Yield warnings on passages of these scopes without vectors, and on those embedded during the search."""
    former = snapshot.vector_sets.former()
    if former is not None and former.space is not None:
        # The new vectors answer once every chunk of the index has one.
        n_waiting, n_total = snapshot.embedding_queue.count(), snapshot.chunks.count()
        status = f"{n_waiting:,} of all {n_total:,} passages {'wait' if n_waiting > 1 else 'waits'}"
        note = f"{status} for the new model; until then {former.space.name} answers"
        yield Note(note, NoteKind.EMBEDDING)
        return
    holders = _holder_ids(scopes)
    n_waiting = snapshot.chunks.count_waiting(holders)
    if n_waiting > (len(on_demand.embedded) if on_demand else 0):
        n_chunks = snapshot.chunks.count_chunks_of_holders(holders)
        passages = "the passages there" if n_chunks is None else f"{n_chunks:,} passage{'s' if n_chunks > 1 else ''}"
        are_covered = bool(on_demand and on_demand.embedded) and snapshot.static_vectors.has_any()
        state = format_waiting(n_waiting, are_covered=are_covered)
        note = f"{n_waiting:,} of {passages} {state}: {_describe_embedded_so_far(on_demand, n_waiting)}"
        yield Note(note, NoteKind.EMBEDDING, key=f"not all of {passages} are searchable by meaning yet")


def _holder_ids(scopes: Sequence[Scope]) -> frozenset[int] | None:
    """Return the files that hold the texts of scopes; None for all files."""
    parts = [scope.holder_ids for scope in scopes if scope.holder_ids is not None]
    return frozenset().union(*parts) if len(parts) == len(scopes) else None


def _describe_embedded_so_far(embedder: OnDemandEmbedder | None, n_waiting: int) -> str:
    if embedder is None or not embedder.embedded:
        return f"{'they are' if n_waiting > 1 else 'it is'} found by words alone"
    n_others = len(embedder.not_embedded - embedder.embedded)
    were = "was" if len(embedder.embedded) == 1 else "were"
    rest = f", and {n_others} ranked by words alone" if n_others else ""
    return f"{len(embedder.embedded)} of them {were} embedded for this query{rest}"
