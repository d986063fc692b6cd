"""Indexed text of a file, joined from its chunks: all of it, or some lines, pages or chunks; context lines of hits.

A file is compared with its state in the index by size and modification time alone.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.files import source_file
from directory_indexer.core.ids import hash_of
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, exact_text, os_path
from directory_indexer.core.safe_open import open_file
from directory_indexer.formats.document import FileFacts, Metadata
from directory_indexer.search.requests import DiskChange, Hit
from directory_indexer.storage.documents.store import Snapshot
from directory_indexer.walk.repository import is_git_history

with lazily:
    from directory_indexer.storage.documents.files import FileFilter
    from directory_indexer.storage.documents.known_files import FileState, KnownFile


class FileText(NamedTuple):
    """The indexed text of a file, or a part of it, as `get` returns it.

    `unread_pages` are its pages, counted from 1, whose text is missing because OCR has not recognised them.
    """

    path: FilePath
    facts: FileFacts
    text: str
    start_line: int
    end_line: int
    n_lines: int
    n_chunks: int
    chunks: tuple[Chunk, ...]
    on_disk: DiskChange | None
    metadata: Metadata = Metadata()
    unread_pages: tuple[int, ...] = ()


class SelectionUnit(StrEnum):
    """The unit of a selection."""

    LINES = "lines"
    CHUNKS = "chunks"
    PAGES = "pages"


class Selection(NamedTuple):
    """A part of a file, counted from 1, both ends included; an end beyond the file means its end."""

    unit: SelectionUnit
    first: int
    last: int


def read_text(snapshot: Snapshot, path: FilePath, selection: Selection | None) -> FileText:
    """Return the text of a file as it was indexed.

    Raises:
        NotIndexedError: the index holds no text of the file.
        UsageError: the selection lies beyond the file, or counts pages in a file that has none.
    """
    stored = snapshot.chunks.of_file(path)
    if not stored:
        raise NotIndexedError(
            f"the index holds no text of {display(path)}", hint=reason_of_missing_text(snapshot, path)
        )
    chunks = [indexed.chunk for indexed in stored]
    whole = join_chunks(chunks)
    unread = snapshot.scans.unread(path)
    page_starts = _with_last_pages(snapshot.files.page_starts(path), max(unread, default=0), len(whole))
    start, end = _character_range(whole, chunks, page_starts, selection, path)
    first_page, last_page = _page_range(page_starts, selection, start, end)
    selected = [chunk for chunk in chunks if chunk.start_char < end and chunk.end_char > start]
    text = whole[start:end]
    start_line = whole.count("\n", 0, start) + 1
    return FileText(
        path=path,
        facts=stored[0].facts,
        text=text,
        start_line=start_line,
        end_line=start_line + text.removesuffix("\n").count("\n"),
        n_lines=whole.removesuffix("\n").count("\n") + 1,
        n_chunks=len(chunks),
        chunks=tuple(selected),
        on_disk=_on_disk(snapshot, path),
        metadata=snapshot.metadata.metadata_of([path]).get(path, Metadata()),
        unread_pages=tuple(page for page in unread if first_page <= page <= last_page),
    )


def join_chunks(chunks: Sequence[Chunk]) -> str:
    """Join the chunks of a file; text that neighbours share appears once."""
    parts: list[str] = []
    end = 0
    for chunk in chunks:
        parts.append(chunk.text[max(end - chunk.start_char, 0) :])
        end = max(end, chunk.end_char)
    return "".join(parts)


def _character_range(
    whole: str, chunks: Sequence[Chunk], page_starts: Sequence[int], selection: Selection | None, path: FilePath
) -> tuple[int, int]:
    if selection is None:
        return 0, len(whole)
    match selection.unit:
        case SelectionUnit.LINES:
            starts = [0, *(at + 1 for at, character in enumerate(whole[:-1]) if character == "\n")]
        case SelectionUnit.CHUNKS:
            starts = [chunk.start_char for chunk in chunks]
        case SelectionUnit.PAGES:
            starts = list(page_starts)
    if selection.last < selection.first:
        raise UsageError(f"{_format_selection(selection)} is not a range: its end comes before its beginning")
    if not 1 <= selection.first <= len(starts):
        unit = str(selection.unit)
        size = f"{len(starts) or 'no'} {unit.removesuffix('s') if len(starts) == 1 else unit}"
        raise UsageError(f"{display(path)} has {size}; you asked for {_format_selection(selection)}")
    if selection.unit is SelectionUnit.CHUNKS:
        return starts[selection.first - 1], chunks[min(selection.last, len(chunks)) - 1].end_char
    return starts[selection.first - 1], [*starts, len(whole)][min(selection.last, len(starts))]


def _with_last_pages(page_starts: Sequence[int], n_pages: int, end: int) -> tuple[int, ...]:
    """Append the pages behind the last one with text."""
    return *page_starts, *[end] * (n_pages - len(page_starts))


def _page_range(page_starts: Sequence[int], selection: Selection | None, start: int, end: int) -> tuple[int, int]:
    """Return the first and the last page of a part; pages without text may precede, interrupt and follow it."""
    if selection is None:
        return 1, sys.maxsize
    if selection.unit is SelectionUnit.PAGES:
        return selection.first, selection.last
    return bisect_left(page_starts, start) or 1, bisect_right(page_starts, end)


def _format_selection(selection: Selection) -> str:
    if selection.first == selection.last:
        return f"{str(selection.unit).removesuffix('s')} {selection.first}"
    if selection.last < _MAX_PARTS:
        return f"{selection.unit} {selection.first} to {selection.last}"
    return f"{selection.unit} from {selection.first} on"


def _on_disk(snapshot: Snapshot, path: FilePath) -> DiskChange | None:
    """Return the change of a file since it was indexed; if its stamp is inconclusive, its content decides."""
    path = snapshot.files.container_of(path) or path
    known = snapshot.files.get(path)
    change = change_on_disk(snapshot, path)
    if not snapshot.is_local or change or known is None or known.hash is None or is_git_history(path):
        return change
    try:
        if source_file(path) == known.source:
            return None
        with open(open_file(exact_text(path)), "rb") as file:
            return DiskChange.CHANGED if hash_of(file) != known.hash else None
    except OSError:
        return DiskChange.CHANGED


def reason_of_missing_text(snapshot: Snapshot, path: FilePath) -> str:
    """Return why the index holds no text of a path, or which file may be meant."""
    known = snapshot.files.get(path)
    if known is None and snapshot.files.covers(path):
        return "it is a directory: name a file in it"
    if known is None and (commits := _commits_with_prefix(snapshot, path)):
        others = f", or one of {len(commits) - 1} others" if commits[1:] else ""
        return f"a commit is named in full: {display(commits[0])}{others}"
    if known is None and (suggestion := suggest_namesake(snapshot, path)):
        return suggestion
    if known is None:
        is_gone = snapshot.is_local and not os.path.lexists(os_path(path))
        return f"{'there is no such file; ' if is_gone else ''}dirindex status lists the indexed directories"
    return _reason_of_known_file(snapshot, path, known)


def _reason_of_known_file(snapshot: Snapshot, path: FilePath, known: KnownFile) -> str:
    if members := snapshot.files.members(path):
        return f"it is a container of {len(members)} files: name one of them, such as {display(members[0])}"
    if known.state == FileState.INDEXED and (member := snapshot.files.first_member_without_text(path)):
        return f"nothing in it was indexed; {display(member.source.path)}: {member.no_text_reason}"
    return known.no_text_reason


def suggest_namesake(snapshot: Snapshot, path: FilePath) -> str:
    """Suggest the indexed file with the least deep path that has the same name; "" if there is none."""
    name = os.path.basename(path)
    files = snapshot.path_lookup.with_path_parts([name]) if name.isascii() else ()
    named = [file.path for file in files if file.is_indexed and os.path.basename(file.path) == name]
    return f"did you mean {display(min(named, key=lambda other: (other.count(os.sep), other)))}?" if named else ""


def _commits_with_prefix(snapshot: Snapshot, path: FilePath) -> list[FilePath]:
    """Return the commits whose hash begins with the last part of a path, if that may be a hash."""
    name = os.path.basename(exact_text(path)).lower()
    if not re.fullmatch(_HASH_PREFIX, name):
        return []
    commits = (file.path for file in snapshot.files.matching(FileFilter(kinds=frozenset({"commit"}))))
    return [commit for commit in commits if exact_text(commit).rpartition("/")[2].startswith(name)]


_HASH_PREFIX: Final = r"[0-9a-f]{4,40}"
_MAX_PARTS: Final = 10**9
"""No file has so many; an open selection ends beyond."""


def change_on_disk(snapshot: Snapshot, path: FilePath) -> DiskChange | None:
    """Return the change of a file since it was indexed, if any; that of a member is that of its container.

    A file that cannot be read counts as changed.
    """
    return changes_on_disk(snapshot, (path,), snapshot.files.get_all((path,))).get(path)


def changes_on_disk(
    snapshot: Snapshot, paths: Collection[FilePath], known: Mapping[FilePath, KnownFile]
) -> dict[FilePath, DiskChange]:
    """Return the changes of those of some files that were changed since they were indexed, by their `known` records."""
    if not snapshot.is_local:
        return {}
    containers = snapshot.files.containers_of(paths)
    known = {**known, **snapshot.files.get_all(set(containers.values()))}
    files = ((path, containers.get(path, path)) for path in paths)
    changes = ((path, _compare_with_disk(file, known.get(file))) for path, file in files)
    return {path: change for path, change in changes if change}


def _compare_with_disk(path: FilePath, known: KnownFile | None) -> DiskChange | None:
    if is_git_history(path):
        return None  # a commit never changes; the next run removes it when it is unreachable
    try:
        current = source_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return DiskChange.GONE
    except OSError:
        return DiskChange.CHANGED
    is_same = known is not None and (current.size, current.mtime_ns) == (known.source.size, known.source.mtime_ns)
    return None if is_same else DiskChange.CHANGED


def with_context_lines(snapshot: Snapshot, hit: Hit, *, n_lines: int) -> Hit:
    """Return a hit with so many lines of context on both sides; unchanged if its text is gone."""
    first = max(hit.start_line - n_lines, 1)
    try:
        context = read_text(snapshot, hit.path, Selection(SelectionUnit.LINES, first, hit.end_line + n_lines))
    except (NotIndexedError, UsageError):
        return hit
    if hit.excerpt.text not in context.text:
        return hit
    return hit._replace(text=context.text, start_line=context.start_line, end_line=context.end_line)
