"""All lines of the indexed texts that match a pattern: exact, and exhaustive as the index is."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from directory_indexer.cancellation import raise_if_cancelled
from directory_indexer.docstore.files import TextFile
from directory_indexer.docstore.store import Snapshot
from directory_indexer.docstore.stretches import Stretch, WordLookup
from directory_indexer.lazy import lazily
from directory_indexer.matching.lines import LineSpan, all_lines, matching_lines, other_lines
from directory_indexer.matching.patterns import LinePattern, PatternOptions
from directory_indexer.paths import FilePath
from directory_indexer.searching.gaps import all_gaps, gaps_in
from directory_indexer.searching.line_lookup import plan_lookup
from directory_indexer.searching.readiness import require_indexed

with lazily:
    from directory_indexer.relevance.query import Query
    from directory_indexer.searching.answers import SearchMode, SearchRequest
    from directory_indexer.searching.notes import require_types
    from directory_indexer.searching.scope import resolve_scope


class GrepRequest(NamedTuple):
    """Which lines are looked for, and where.

    With `invert` the lines are those that do not match, with `max_count` at most so many of each file. So many lines
    are shown `before` and `after` each one. At most `most_spans` matches of each line are told; if it is None, all are.
    """

    pattern: PatternOptions
    scope: tuple[FilePath, ...] = ()
    kinds: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    invert: bool = False
    max_count: int | None = None
    before: int = 0
    after: int = 0
    most_spans: int | None = None

    @property
    def is_everywhere(self) -> bool:
        """Tell whether it looks into all that is indexed."""
        return not (self.scope or self.kinds or self.globs)


class GrepLine(NamedTuple):
    """A line that was found, or one that stands beside it; `spans` are its matches, in characters from 0."""

    number: int
    text: str
    is_found: bool = True
    spans: tuple[tuple[int, int], ...] = ()
    page: int | None = None


class GrepMatches(NamedTuple):
    """What was found in one file; `n_found` counts its lines without those that stand beside them."""

    path: FilePath
    kind: str
    lines: tuple[GrepLine, ...]
    n_found: int


class Grep(NamedTuple):
    """Lines that match: the files that have any come sorted by path, as they are read.

    Where `is_looked_up` is false, no word could be looked up, and all files of the scope are read.
    """

    files: Iterator[GrepMatches]
    is_looked_up: bool


def grep(snapshot: Snapshot, request: GrepRequest) -> Grep:
    """Find the lines that match, in the files that a request is about.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
        UsageError: there is no such type, or the pattern is invalid.
    """
    pattern = LinePattern(request.pattern)
    scope = _files_meant(snapshot, request)
    lookup = None if request.invert else plan_lookup(pattern.clauses, snapshot.words)
    texts = _all_texts(snapshot, scope) if lookup is None else _texts_found(snapshot, scope, lookup, request)
    read = (_FileReader(file, pattern, request).read(stretches) for file, stretches in texts)
    return Grep((found for found in read if found is not None), lookup is not None)


def files_without(snapshot: Snapshot, request: GrepRequest, found: Grep) -> Iterator[GrepMatches]:
    """Give the files in which nothing is found, each without a line."""
    found_in = {one.path for one in found.files}
    for file in snapshot.files.texts(_files_meant(snapshot, request).as_json):
        if file.path not in found_in:
            yield GrepMatches(file.path, file.kind, (), 0)


def grep_notes(
    snapshot: Snapshot, request: GrepRequest, found: Grep, *, has_any: bool, seconds: float
) -> tuple[str, ...]:
    """Say what could not be looked into, more of it where nothing was found, and why it took long if it did."""
    is_slow = seconds > _SLOW and not found.is_looked_up and not request.invert
    if request.is_everywhere:
        gaps = all_gaps(snapshot, is_weak=not has_any)
    else:
        gaps = gaps_in(snapshot, *_asked(request), is_weak=not has_any)
    return (*((_ALL_READ,) if is_slow else ()), *gaps)


class _Files(NamedTuple):
    """The ids of the files that are looked into, the same as a JSON array, and the rows that hold their texts.

    None means all.
    """

    ids: frozenset[int] | None = None
    as_json: str | None = None
    holder_ids: frozenset[int] | None = None


def _files_meant(snapshot: Snapshot, request: GrepRequest) -> _Files:
    require_indexed(snapshot, request.scope)
    if request.is_everywhere:
        return _Files()  # without loading what resolves a scope
    require_types(request.kinds)
    scope = resolve_scope(snapshot, *_asked(request))
    return _Files(scope.file_ids, scope.file_ids_json, scope.holder_ids)


def _asked(request: GrepRequest) -> tuple[SearchRequest, Query]:
    """Give the search that looks into the same files."""
    places = SearchRequest("", mode=SearchMode.KEYWORD, scope=request.scope, kinds=request.kinds, globs=request.globs)
    return places, Query("", "")


def _all_texts(snapshot: Snapshot, scope: _Files) -> Iterator[tuple[TextFile, Iterable[Stretch]]]:
    for file in snapshot.files.texts(scope.as_json):
        yield file, snapshot.stretches.of_file(file.holder_id)


def _texts_found(
    snapshot: Snapshot, scope: _Files, lookup: WordLookup, request: GrepRequest
) -> Iterator[tuple[TextFile, Iterable[Stretch]]]:
    found: dict[int, list[Stretch]] = {}
    for stretch in snapshot.stretches.holding(lookup):
        if scope.holder_ids is None or stretch.file_id in scope.holder_ids:
            found.setdefault(stretch.file_id, []).append(stretch)
    shows_context = bool(request.before or request.after)
    for file in snapshot.files.texts(_files_with(snapshot, scope, found)):
        yield file, snapshot.stretches.of_file(file.holder_id) if shows_context else found[file.holder_id]


def _files_with(snapshot: Snapshot, scope: _Files, holder_ids: Collection[int]) -> str:
    """Give the files of a scope that have the texts which these hold, as a JSON array of their rows."""
    sharing = snapshot.shared_texts.sharing(holder_ids)
    file_ids = {*holder_ids, *(one.id for files in sharing.values() for one in files)}
    return json.dumps(sorted(file_ids if scope.ids is None else file_ids & scope.ids))


class _FileReader:
    """Finds the lines of one file."""

    def __init__(self, file: TextFile, pattern: LinePattern, request: GrepRequest) -> None:
        self._file = file
        self._page_starts = file.page_starts
        self._pattern = pattern
        self._request = request

    def read(self, stretches: Iterable[Stretch]) -> GrepMatches | None:
        lines: list[GrepLine] = []
        n_found = 0
        raise_if_cancelled()
        for stretch in stretches:
            found = self._found(stretch, n_found)
            n_found += len(found)
            lines += self._shown(stretch, found)
        return GrepMatches(self._file.path, self._file.kind, tuple(lines), n_found) if n_found else None

    def _found(self, stretch: Stretch, n_before: int) -> Sequence[LineSpan]:
        lines = matching_lines(stretch.text, self._pattern, first_line=stretch.start_line)
        if self._request.invert:
            lines = other_lines(stretch.text, lines, first_line=stretch.start_line)
        most = self._request.max_count
        return list(islice(lines, None if most is None else most - n_before))

    def _shown(self, stretch: Stretch, found: Sequence[LineSpan]) -> Iterator[GrepLine]:
        if not found or not (self._request.before or self._request.after):
            return (self._line(stretch, line, is_found=True) for line in found)
        return self._with_lines_around(stretch, [line.number for line in found])

    def _with_lines_around(self, stretch: Stretch, numbers: Sequence[int]) -> Iterator[GrepLine]:
        found = set(numbers)
        for line in all_lines(stretch.text, first_line=stretch.start_line):
            # The first match that this line may stand beside. The lines around are not listed: they may be millions.
            at = bisect_left(numbers, line.number - self._request.after)
            if at < len(numbers) and numbers[at] <= line.number + self._request.before:
                yield self._line(stretch, line, is_found=line.number in found)

    def _line(self, stretch: Stretch, line: LineSpan, *, is_found: bool) -> GrepLine:
        raw = stretch.text[line.start : line.end]
        spans = self._spans(raw) if is_found and not self._request.invert else []
        page = self._page(stretch, line.start + (spans[0][0] if spans else 0))
        spans = spans[: self._request.most_spans]
        if not raw.isascii():
            spans = [(len(raw[:start].decode()), len(raw[:end].decode())) for start, end in spans]
        return GrepLine(line.number, raw.decode(), is_found, tuple(spans), page)

    def _spans(self, raw: bytes) -> list[tuple[int, int]]:
        """Find the matches that are told, and at least the first one where pages are known, which it decides."""
        most = self._request.most_spans
        least = int(bool(self._page_starts))
        return list(islice(self._pattern.spans(raw), None if most is None else max(most, least)))

    def _page(self, stretch: Stretch, at: int) -> int | None:
        if not self._page_starts:
            return None
        return bisect_right(self._page_starts, stretch.start_char + len(stretch.text[:at].decode())) or 1


_ALL_READ: Final = "all texts were read: the pattern has no rare word in it that the index could look up"
_SLOW: Final = 1.0
