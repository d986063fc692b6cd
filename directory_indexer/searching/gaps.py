"""What is missing in an answer, since the index holds nothing of it: said in a line, with the command that names it."""

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
_WHERE_NOTHING_WAS_FOUND: Final = {
    "binary": ("file of no known format", "files of no known format"),
    "secret": ("file left out as a secret", "files left out as secrets"),
    "broken link": ("broken link", "broken links"),
    "symbolic link": ("link that is not followed", "links that are not followed"),
    "not a regular file": ("file that is not regular", "files that are not regular"),
    "empty": ("empty file", "empty files"),
}
"""What is usual in every tree, and tells something only who does not find what he looks for."""


def gaps_in(snapshot: Snapshot, request: SearchRequest, query: Query, *, is_weak: bool) -> Iterator[Note]:
    """Say how much of what a request looks into no search can find; more of it where nothing good was found."""
    names = _names(is_weak=is_weak, by_words=request.mode is SearchMode.KEYWORD)
    found = _gaps(snapshot, names)
    if found:
        is_meant = path_tests(snapshot, request, query)
        found = [gap for gap in found if is_meant(gap.path) and may_be_of_kind(gap.path, request, query)]
    yield from _told(found, names, [root for root in snapshot.left_out.unfinished() if _is_in_scope(root, request)])


def all_gaps(snapshot: Snapshot, *, is_weak: bool) -> Iterator[Note]:
    """Say the same of all that is indexed, and of what is found by words."""
    names = _names(is_weak=is_weak, by_words=True)
    yield from _told(_gaps(snapshot, names), names, snapshot.left_out.unfinished())


def may_be_of_kind(path: FilePath, request: SearchRequest, query: Query) -> bool:
    """Tell whether a file may be one of those asked for; what its name does not tell, nobody knows."""
    wanted = {*request.kinds, *query.required.kinds}
    kind = kind_for_alias(os.path.splitext(path)[1]) if wanted else None
    return kind is None or any(kind in (GROUPS.get(name.lower()) or {kind_for_alias(name)}) for name in wanted)


def _names(*, is_weak: bool, by_words: bool) -> dict[str, tuple[str, str]]:
    names = {**_ALWAYS, **(_WHERE_NOTHING_WAS_FOUND if is_weak else {})}
    if by_words:
        del names["refused"]
    return names


def _gaps(snapshot: Snapshot, names: dict[str, tuple[str, str]]) -> list[Gap]:
    return [gap for gap in snapshot.left_out.gaps(tuple(names)) if gap.reason in names]


def _told(found: Iterable[Gap], names: dict[str, tuple[str, str]], unfinished: Iterable[FilePath]) -> Iterator[Note]:
    if counted := list(_counted(found, names)):
        yield Note(f"missing here: {', '.join(counted)}", NoteKind.MISSING, "dirindex status -v names them")
    if roots := ", ".join(map(display, unfinished)):
        note = f"the first run over {roots} has not ended"
        yield Note(note, NoteKind.UNFINISHED, "dirindex status tells how far it is")


def _counted(found: Iterable[Gap], names: dict[str, tuple[str, str]]) -> Iterator[str]:
    counts = Counter[str]()
    for gap in found:
        counts[gap.reason] += gap.number
    for reason, (one, several) in names.items():
        if counts[reason]:
            yield f"{counts[reason]:,} {one if counts[reason] == 1 else several}"


def _is_in_scope(root: FilePath, request: SearchRequest) -> bool:
    return not request.scope or any(lies_in(root, one) or lies_in(one, root) for one in request.scope)
