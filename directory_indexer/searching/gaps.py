"""Coverage warnings: parts of the scope that no search can find, with the command that lists them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from directory_indexer.docstore.left_out import Gap
from directory_indexer.docstore.store import Snapshot
from directory_indexer.lazy import lazily
from directory_indexer.notes import Note, NoteKind
from directory_indexer.paths import FilePath, display, lies_in

with lazily:
    from directory_indexer.extractors.kinds import GROUPS, kind_for_alias
    from directory_indexer.relevance.query import Query
    from directory_indexer.searching.answers import SearchMode, SearchRequest
    from directory_indexer.searching.scope import path_tests


_ALWAYS: Final = {
    "failed": ("file that failed", "files that failed"),
    "too large": ("file too large", "files too large"),
    "encrypted": ("encrypted file", "encrypted files"),
    "no text": ("file without text", "files without text"),
    "waiting": ("scanned page that waits for OCR", "scanned pages that wait for OCR"),
    "unreadable": ("scanned page that OCR cannot read", "scanned pages that OCR cannot read"),
    "refused": ("passage that the provider refuses to embed", "passages that the provider refuses to embed"),
}
_IF_WEAK: Final = {
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
    names = _names(is_weak=is_weak, by_words=request.mode is SearchMode.KEYWORD)
    gaps = _gaps(snapshot, names)
    if gaps:
        is_in_scope = path_tests(snapshot, request, query)
        gaps = [gap for gap in gaps if is_in_scope(gap.path) and may_be_of_kind(gap.path, request, query)]
    yield from _format_warnings(
        gaps, names, [root for root in snapshot.left_out.unfinished() if _is_in_scope(root, request)]
    )


def index_warnings(snapshot: Snapshot, *, is_weak: bool) -> Iterator[Note]:
    """Yield the same warnings for the whole index and a keyword search."""
    names = _names(is_weak=is_weak, by_words=True)
    yield from _format_warnings(_gaps(snapshot, names), names, snapshot.left_out.unfinished())


def may_be_of_kind(path: FilePath, request: SearchRequest, query: Query) -> bool:
    """Whether a file may be of a requested kind; if its name does not show its kind, it may."""
    kinds = {*request.kinds, *query.required.kinds}
    kind = kind_for_alias(os.path.splitext(path)[1]) if kinds else None
    return kind is None or any(kind in (GROUPS.get(name.lower()) or {kind_for_alias(name)}) for name in kinds)


def _names(*, is_weak: bool, by_words: bool) -> dict[str, tuple[str, str]]:
    names = {**_ALWAYS, **(_IF_WEAK if is_weak else {})}
    if by_words:
        del names["refused"]
    return names


def _gaps(snapshot: Snapshot, names: dict[str, tuple[str, str]]) -> list[Gap]:
    return [gap for gap in snapshot.left_out.gaps(tuple(names)) if gap.reason in names]


def _format_warnings(
    gaps: Iterable[Gap], names: dict[str, tuple[str, str]], unfinished: Iterable[FilePath]
) -> Iterator[Note]:
    if counted := list(_format_counts(gaps, names)):
        yield Note(f"missing here: {', '.join(counted)}", NoteKind.MISSING, "dirindex status -v names them")
    if roots := ", ".join(map(display, unfinished)):
        note = f"the first run over {roots} has not ended"
        yield Note(note, NoteKind.UNFINISHED, "dirindex status tells how far it is")


def _format_counts(gaps: Iterable[Gap], names: dict[str, tuple[str, str]]) -> Iterator[str]:
    counts = Counter[str]()
    for gap in gaps:
        counts[gap.reason] += gap.number
    for reason, (singular, plural) in names.items():
        if counts[reason]:
            yield f"{counts[reason]:,} {singular if counts[reason] == 1 else plural}"


def _is_in_scope(root: FilePath, request: SearchRequest) -> bool:
    return not request.scope or any(lies_in(root, path) or lies_in(path, root) for path in request.scope)
