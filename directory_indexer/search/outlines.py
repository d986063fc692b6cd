"""Outlines of files and directories, folded to a size limit: whole levels first, then the largest parts.

The outline of a file is derived from its chunks, and nothing is parsed again: headings and symbols, else pages, else
first lines of passages. Small sections of several parents that share a chunk are known by their outermost names. The
outline of a directory is a tree of its files, with passages, kinds and size.
"""

from __future__ import annotations

import difflib
import heapq
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from directory_indexer.chunking.chunks import HEADING_SEPARATOR, Chunk
from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.files import DIRECTORY
from directory_indexer.core.paths import FilePath, display, members_directory, prefix_of
from directory_indexer.formats.document import FileFacts
from directory_indexer.search.file_texts import change_on_disk, join_chunks
from directory_indexer.search.requests import DiskChange
from directory_indexer.search.sections import SectionStart, find_section_starts, first_line
from directory_indexer.storage.documents.files import FileSize
from directory_indexer.storage.documents.store import Snapshot

_MAX_NAME_LENGTH = 60
_MAX_SUGGESTIONS = 5


class OutlineItem(NamedTuple):
    """An entry of an outline: a section of a file, or a directory or file below a directory.

    `depth` counts from 0. Lines are those of a section; `kinds` and `n_files` are those of a directory. `n_folded`
    parts of it are not shown.
    """

    name: str
    depth: int
    n_tokens: int
    start_line: int = 0
    end_line: int = 0
    page: int | None = None
    n_files: int = 0
    n_chunks: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    n_folded: int = 0


class Outline(NamedTuple):
    """The parts of a file or a directory. `n_left_out` entries of the first level are not shown."""

    path: FilePath
    facts: FileFacts
    n_tokens: int
    entries: tuple[OutlineItem, ...]
    n_lines: int = 0
    n_pages: int = 0
    n_files: int = 0
    n_chunks: int = 0
    part: str = ""
    on_disk: DiskChange | None = None
    n_left_out: int = 0
    is_directory: bool = False


def file_outline(snapshot: Snapshot, path: FilePath, part: str = "") -> Outline:
    """Return the outline of a file, or of the part of it with this name.

    Raises:
        NotIndexedError: the index holds no text of the file.
        UsageError: it has no such part.
    """
    stored = snapshot.chunks.of_file(path)
    if not stored:
        raise NotIndexedError(f"the index holds no text of {display(path)}", hint="dirindex status -v says why")
    chunks = [indexed.chunk for indexed in stored]
    page_starts = snapshot.files.page_starts(path)
    entries = tuple(_entries(chunks, page_starts))
    whole = Outline(
        path,
        stored[0].facts,
        sum(chunk.n_tokens for chunk in chunks),
        entries,
        n_lines=chunks[-1].end_line,
        n_pages=len(page_starts),
        n_chunks=len(chunks),
        on_disk=change_on_disk(snapshot, snapshot.files.container_of(path) or path),
    )
    return _select_part(whole, part) if part else whole


def find_entry(entries: Sequence[OutlineItem], name: str, path: FilePath) -> int:
    """Return the index of the entry that `FILE#name` means: by its name, or by the end of its path of names.

    Raises:
        UsageError: there is none.
    """
    target = _normalise_name(name)
    names = [_normalise_name(HEADING_SEPARATOR.join(path_names)) for path_names in _heading_paths(entries)]
    tests = (
        lambda text: text == target or text.endswith(HEADING_SEPARATOR + target),
        lambda text: text.rpartition(HEADING_SEPARATOR)[2].startswith(target),
        lambda text: target in text.rpartition(HEADING_SEPARATOR)[2],
    )
    for test in tests:
        if (index := next((at for at, text in enumerate(names) if test(text)), None)) is not None:
            return index
    plain = [entry.name for entry in entries]
    near = difflib.get_close_matches(name, plain, n=_MAX_SUGGESTIONS, cutoff=0.5) or plain[:_MAX_SUGGESTIONS]
    raise UsageError(
        f"{display(path)} has no part '{name}'", hint=f"some of its parts: {', '.join(near)}" if near else ""
    )


def _select_part(whole: Outline, part: str) -> Outline:
    at = find_entry(whole.entries, part, whole.path)
    first = whole.entries[at]
    following = range(at + 1, len(whole.entries))
    end = next((index for index in following if whole.entries[index].depth <= first.depth), None)
    entries = tuple(entry._replace(depth=entry.depth - first.depth) for entry in whole.entries[at:end])
    return whole._replace(entries=entries, part=first.name, n_tokens=first.n_tokens)


def _normalise_name(name: str) -> str:
    return " ".join(name.replace("::", HEADING_SEPARATOR).casefold().split())


def _heading_paths(entries: Iterable[OutlineItem]) -> Iterator[tuple[str, ...]]:
    above: tuple[str, ...] = ()
    for entry in entries:
        above = (*above[: entry.depth], entry.name)
        yield above


class _EntryStart(NamedTuple):
    """The start of an entry."""

    name: str
    depth: int
    start_char: int
    line: int


def _entries(chunks: Sequence[Chunk], page_starts: Sequence[int]) -> Iterator[OutlineItem]:
    starts = list(_section_entries(chunks)) or list(_page_entries(chunks, page_starts)) or list(_chunk_entries(chunks))
    tokens = _TokensBefore(chunks)
    end_of_text = _EntryStart("", 0, chunks[-1].end_char, chunks[-1].end_line + 1)
    for start, part_end in zip(starts, _part_ends(starts, end_of_text), strict=True):
        page = bisect_right(page_starts, start.start_char) if page_starts else None
        n_tokens = tokens.at(part_end.start_char) - tokens.at(start.start_char)
        yield OutlineItem(start.name, start.depth, n_tokens, start.line, max(part_end.line - 1, start.line), page)


def _part_ends(starts: Sequence[_EntryStart], end_of_text: _EntryStart) -> list[_EntryStart]:
    """Return for each start the one at which its part ends: the next that is no deeper."""
    ends: list[_EntryStart] = []
    ahead = [end_of_text._replace(depth=-1)]
    for start in reversed(starts):
        while ahead[-1].depth > start.depth:
            ahead.pop()
        ends.append(ahead[-1])
        ahead.append(start)
    return ends[::-1]


def _section_entries(chunks: Iterable[Chunk]) -> Iterator[_EntryStart]:
    """Yield the start of every section; a chunk that continues one names it again."""
    above: tuple[str, ...] = ()
    preceding = ""
    for chunk in chunks:
        for start in find_section_starts(chunk, open_name=above[-1] if above else "", preceding=preceding):
            if start.path == above[: len(start.path)]:
                continue
            above = start.path
            yield _section_entry_start(start)
        preceding = chunk.text


def _section_entry_start(start: SectionStart) -> _EntryStart:
    return _EntryStart(start.path[-1], len(start.path) - 1, start.start_char, start.line)


def _page_entries(chunks: Sequence[Chunk], page_starts: Sequence[int]) -> Iterator[_EntryStart]:
    text = join_chunks(chunks) if page_starts else ""
    for number, start in enumerate(page_starts, 1):
        name = first_line(text[start : start + _MAX_NAME_LENGTH * 4], max_chars=_MAX_NAME_LENGTH)
        yield _EntryStart(name or f"page {number}", 0, start, text.count("\n", 0, start) + 1)


def _chunk_entries(chunks: Iterable[Chunk]) -> Iterator[_EntryStart]:
    for chunk in chunks:
        yield _EntryStart(first_line(chunk.text, max_chars=_MAX_NAME_LENGTH), 0, chunk.start_char, chunk.start_line)


class _TokensBefore:
    """The number of tokens before a character, as if those of a chunk were spread evenly."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._starts = [chunk.start_char for chunk in chunks]
        self._chunks = chunks
        self._before = [0]
        for chunk in chunks:
            self._before.append(self._before[-1] + chunk.n_tokens)

    def at(self, character: int) -> int:
        index = max(bisect_right(self._starts, character) - 1, 0)
        chunk = self._chunks[index]
        share = (character - chunk.start_char) / max(chunk.end_char - chunk.start_char, 1)
        return self._before[index] + round(min(share, 1.0) * chunk.n_tokens)


def directory_outline(snapshot: Snapshot, path: FilePath) -> Outline:
    """Return the outline of what is indexed below a directory, or in a container."""
    top = _Branch()
    starts = (prefix_of(path), prefix_of(members_directory(path)))
    for size in snapshot.files.sizes(path):
        start = next((prefix for prefix in starts if size.path.startswith(prefix)), None)
        if start is not None:
            top.add(size.path.removeprefix(start).split(os.sep), size)
    return Outline(
        path,
        FileFacts(DIRECTORY),
        top.n_tokens,
        tuple(_branch_entries(top, 0)),
        n_files=top.n_files,
        n_chunks=top.n_chunks,
        is_directory=True,
    )


@dataclass(slots=True)
class _Branch:
    """A directory with everything below it, or a file."""

    n_files: int = 0
    n_chunks: int = 0
    n_tokens: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    inner: dict[str, _Branch] = field(default_factory=dict)

    def add(self, names: Iterable[str], size: FileSize) -> None:
        """Count a file here and in every directory on the way to it."""
        branch = self
        branch.count(size)
        for name in names:
            branch = branch.inner.setdefault(name, _Branch())
            branch.count(size)

    def count(self, size: FileSize) -> None:
        """Count a file here."""
        self.n_files += 1
        self.n_chunks += size.n_chunks
        self.n_tokens += size.n_tokens
        self.kinds[size.kind] += 1


def _branch_entries(top: _Branch, depth: int) -> Iterator[OutlineItem]:
    """Yield directories before files, each with its contents; recursion would fail at some depth."""
    stack = [(name, branch, depth) for name, branch in _sorted_children(top)][::-1]
    while stack:
        name, branch, level = stack.pop()
        while len(branch.inner) == 1 and next(iter(branch.inner.values())).inner:
            [(only, branch)] = branch.inner.items()
            name = f"{name}{os.sep}{only}"
        mark = os.sep if branch.inner else ""
        yield OutlineItem(
            f"{name}{mark}",
            level,
            branch.n_tokens,
            n_files=branch.n_files if branch.inner else 0,
            n_chunks=branch.n_chunks,
            kinds=tuple(branch.kinds.most_common()),
        )
        stack += [(inner_name, inner, level + 1) for inner_name, inner in _sorted_children(branch)][::-1]


def _sorted_children(branch: _Branch) -> list[tuple[str, _Branch]]:
    return sorted(branch.inner.items(), key=lambda item: (not item[1].inner, item[0]))


def fold_outline(outline: Outline, *, max_cost: int, cost: Callable[[OutlineItem], int]) -> Outline:
    """Fold entries that do not fit: show as many whole levels as fit, then the parts of the largest entries.

    If not even the first level fits, its largest entries are shown.
    """
    entries = outline.entries
    visible = _indices_of_levels_that_fit(entries, max_cost, cost)
    if not visible:
        visible = _indices_of_largest_that_fit(entries, max_cost, cost)
        n_top = sum(entry.depth == 0 for entry in entries)
        outline = outline._replace(n_left_out=n_top - len(visible))
    else:
        visible |= _unfold_children(entries, visible, max_cost - sum(cost(entries[at]) for at in visible), cost)
    return outline._replace(entries=_count_folded(entries, visible))


def _indices_of_levels_that_fit(
    entries: Sequence[OutlineItem], room: int, cost: Callable[[OutlineItem], int]
) -> set[int]:
    by_depth = [0] * (1 + max((entry.depth for entry in entries), default=0))
    for entry in entries:
        by_depth[entry.depth] += cost(entry)
    n_levels = sum(total <= room for total in accumulate(by_depth))
    return {at for at, entry in enumerate(entries) if entry.depth < n_levels}


def _indices_of_largest_that_fit(
    entries: Sequence[OutlineItem], room: int, cost: Callable[[OutlineItem], int]
) -> set[int]:
    visible: set[int] = set()
    top = [at for at, entry in enumerate(entries) if entry.depth == 0]
    for at in sorted(top, key=lambda index: -entries[index].n_tokens):
        room -= cost(entries[at])
        if room < 0:
            break
        visible.add(at)
    return visible


def _unfold_children(
    entries: Sequence[OutlineItem], visible: set[int], room: int, cost: Callable[[OutlineItem], int]
) -> set[int]:
    """Return more entries to show: the children of the largest folded entry whose children all fit, and so on."""
    children = _children(entries)
    more: set[int] = set()
    candidates = [
        (-entries[at].n_tokens, at) for at in visible if children[at] and not visible.intersection(children[at])
    ]
    heapq.heapify(candidates)
    while candidates:
        _, at = heapq.heappop(candidates)
        needed = sum(cost(entries[child]) for child in children[at])
        if needed > room:
            continue
        room -= needed
        more.update(children[at])
        for child in children[at]:
            if children[child]:
                heapq.heappush(candidates, (-entries[child].n_tokens, child))
    return more


def _children(entries: Sequence[OutlineItem]) -> list[list[int]]:
    """Return the children of each entry."""
    children: list[list[int]] = [[] for _ in entries]
    for at, parent in enumerate(_parents(entries)):
        if parent is not None:
            children[parent].append(at)
    return children


def _parents(entries: Sequence[OutlineItem]) -> Iterator[int | None]:
    """Yield the parent of each entry."""
    ancestors: list[int] = []
    for at, entry in enumerate(entries):
        while ancestors and entries[ancestors[-1]].depth >= entry.depth:
            ancestors.pop()
        yield ancestors[-1] if ancestors else None
        ancestors.append(at)


def _count_folded(entries: Sequence[OutlineItem], visible: set[int]) -> tuple[OutlineItem, ...]:
    """Return the visible entries, each with the number of its parts that are not visible."""
    n_folded = Counter[int]()
    visible_ancestors: list[int | None] = []
    for at, parent in enumerate(_parents(entries)):
        visible_ancestors.append(at if at in visible else None if parent is None else visible_ancestors[parent])
        if at not in visible and visible_ancestors[at] is not None:
            n_folded[visible_ancestors[at] or 0] += 1
    return tuple(entries[at]._replace(n_folded=n_folded[at]) for at in sorted(visible))
