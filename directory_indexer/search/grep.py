"""Lines of the indexed texts that match a pattern, or do not: exact, and as exhaustive as the index."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from directory_indexer.core.cancellation import raise_if_cancelled
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.matching import LinePattern, PatternOptions
from directory_indexer.search.coverage_warnings import index_warnings, require_indexed, scope_warnings
from directory_indexer.search.grep_prefilter import plan_prefilter
from directory_indexer.storage.documents.files import TextFile
from directory_indexer.storage.documents.line_ranges import ChunkPrefilter, LineRange
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.ranking.query import Query
    from directory_indexer.search.query_warnings import require_known_types
    from directory_indexer.search.requests import SearchMode, SearchRequest
    from directory_indexer.search.scope import resolve_scope


class LineSpan(NamedTuple):
    """A line of a text: its number, counted from that of the first line, and the offsets of its start and end."""

    number: int
    start: int
    end: int


def matching_lines(text: bytes, pattern: LinePattern, *, first_line: int = 1) -> Iterator[LineSpan]:
    """Yield the matching lines from top to bottom."""
    at, number, counted = 0, first_line, 0
    while at < len(text) and (span := pattern.first(text, at)) is not None and span[0] < len(text):
        start = text.rfind(b"\n", 0, span[0]) + 1
        end = _line_end(text, span[0])
        number += text.count(b"\n", counted, start)
        counted = start
        yield LineSpan(number, start, end)
        at = end + 1


def non_matching_lines(text: bytes, lines: Iterable[LineSpan], *, first_line: int = 1) -> Iterator[LineSpan]:
    """Return the lines that are not among `lines`."""
    excluded_starts = {line.start for line in lines}
    return (line for line in all_lines(text, first_line=first_line) if line.start not in excluded_starts)


def all_lines(text: bytes, *, first_line: int = 1) -> Iterator[LineSpan]:
    """Yield all lines of a text."""
    start, number = 0, first_line
    while start < len(text):
        end = _line_end(text, start)
        yield LineSpan(number, start, end)
        start, number = end + 1, number + 1


def _line_end(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


class GrepRequest(NamedTuple):
    """A pattern, and where to search.

    `invert` selects the lines that do not match, `max_count` limits them for each file. `before` and `after` are lines
    of context. At most `max_spans` matches of each line are returned; None means all.
    """

    pattern: PatternOptions
    scope: tuple[FilePath, ...] = ()
    kinds: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    invert: bool = False
    max_count: int | None = None
    before: int = 0
    after: int = 0
    max_spans: int | None = None

    @property
    def covers_whole_index(self) -> bool:
        """Whether it covers the whole index."""
        return not (self.scope or self.kinds or self.globs)


class GrepLine(NamedTuple):
    """A matching line, or one of its context; `spans` are its matches, in characters from 0."""

    number: int
    text: str
    is_match: bool = True
    spans: tuple[tuple[int, int], ...] = ()
    page: int | None = None


class FileMatches(NamedTuple):
    """The matching lines of one file; `n_matches` counts them without their context."""

    path: FilePath
    kind: str
    lines: tuple[GrepLine, ...]
    n_matches: int


class GrepResult(NamedTuple):
    """Matching lines: the files that have any, sorted by path, as they are read.

    If `uses_index` is false, no word could be looked up, and all files of the scope are read.
    """

    files: Iterator[FileMatches]
    uses_index: bool


def grep(snapshot: Snapshot, request: GrepRequest) -> GrepResult:
    """Find the matching lines in the files of a request.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
        UsageError: there is no such type, or the pattern is invalid.
    """
    pattern = LinePattern(request.pattern)
    scope = files_in_scope(snapshot, request)
    lookup = None if request.invert else plan_prefilter(pattern.clauses, snapshot.words)
    texts = _all_texts(snapshot, scope) if lookup is None else _matching_texts(snapshot, scope, lookup, request)
    read = (FileMatcher(file, pattern, request).match(line_ranges) for file, line_ranges in texts)
    return GrepResult((matches for matches in read if matches is not None), lookup is not None)


def files_without_match(snapshot: Snapshot, request: GrepRequest, matches: GrepResult) -> Iterator[FileMatches]:
    """Yield the files without matches, each with no lines."""
    matching_paths = {file.path for file in matches.files}
    for file in snapshot.files.text_files(files_in_scope(snapshot, request).as_json):
        if file.path not in matching_paths:
            yield FileMatches(file.path, file.kind, (), 0)


def grep_warnings(
    snapshot: Snapshot, request: GrepRequest, matches: GrepResult, *, has_any: bool, seconds: float
) -> tuple[str, ...]:
    """Return warnings on what could not be searched, more if nothing matched, and on why a slow search was slow."""
    is_slow = seconds > _SLOW_SECONDS and not matches.uses_index and not request.invert
    if request.covers_whole_index:
        gaps = index_warnings(snapshot, is_weak=not has_any)
    else:
        gaps = scope_warnings(snapshot, *_as_search_request(request), is_weak=not has_any)
    return (*((_ALL_TEXTS_READ_NOTE,) if is_slow else ()), *map(str, gaps))


class ScopedFiles(NamedTuple):
    """The ids of the files to search, the same as a JSON array, and the ids of the files that hold their texts.

    None means all.
    """

    ids: frozenset[int] | None = None
    as_json: str | None = None
    holder_ids: frozenset[int] | None = None


def files_in_scope(snapshot: Snapshot, request: GrepRequest) -> ScopedFiles:
    """Return the files that a request covers.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
        UsageError: there is no such type.
    """
    require_indexed(snapshot, request.scope)
    if request.covers_whole_index:
        return ScopedFiles()  # without importing the module that resolves a scope
    require_known_types(request.kinds)
    scope = resolve_scope(snapshot, *_as_search_request(request))
    return ScopedFiles(scope.file_ids, scope.file_ids_json, scope.holder_ids)


def _as_search_request(request: GrepRequest) -> tuple[SearchRequest, Query]:
    """Return the search request and query with the same scope."""
    search = SearchRequest("", mode=SearchMode.KEYWORD, scope=request.scope, kinds=request.kinds, globs=request.globs)
    return search, Query("", "")


def _all_texts(snapshot: Snapshot, scope: ScopedFiles) -> Iterator[tuple[TextFile, Iterable[LineRange]]]:
    for file in snapshot.files.text_files(scope.as_json):
        yield file, snapshot.line_ranges.whole_text(file.holder_id)


def _matching_texts(
    snapshot: Snapshot, scope: ScopedFiles, lookup: ChunkPrefilter, request: GrepRequest
) -> Iterator[tuple[TextFile, Iterable[LineRange]]]:
    line_ranges: dict[int, list[LineRange]] = {}
    for line_range in snapshot.line_ranges.candidates(lookup):
        if scope.holder_ids is None or line_range.file_id in scope.holder_ids:
            line_ranges.setdefault(line_range.file_id, []).append(line_range)
    shows_context = bool(request.before or request.after)
    for file in snapshot.files.text_files(json_ids_of_files_sharing_texts(snapshot, scope, line_ranges)):
        yield file, snapshot.line_ranges.whole_text(file.holder_id) if shows_context else line_ranges[file.holder_id]


def json_ids_of_files_sharing_texts(snapshot: Snapshot, scope: ScopedFiles, holder_ids: Collection[int]) -> str:
    """Return the files of a scope whose texts these files hold, as a JSON array of their ids."""
    sharing = snapshot.shared_texts.files_sharing_texts_of(holder_ids)
    file_ids = {*holder_ids, *(file.id for files in sharing.values() for file in files)}
    return json.dumps(sorted(file_ids if scope.ids is None else file_ids & scope.ids))


class FileMatcher:
    """Finds the matching lines of one file."""

    def __init__(self, file: TextFile, pattern: LinePattern, request: GrepRequest) -> None:
        self._file = file
        self._page_starts = file.page_starts
        self._pattern = pattern
        self._request = request

    def match(self, line_ranges: Iterable[LineRange]) -> FileMatches | None:
        """Return the matching lines; None if there are none."""
        lines: list[GrepLine] = []
        n_matches = 0
        raise_if_cancelled()
        for line_range in line_ranges:
            matches = self._matching_spans(line_range, n_matches)
            n_matches += len(matches)
            lines += self._grep_lines(line_range, matches)
        return FileMatches(self._file.path, self._file.kind, tuple(lines), n_matches) if n_matches else None

    def _matching_spans(self, line_range: LineRange, n_before: int) -> Sequence[LineSpan]:
        lines = matching_lines(line_range.text, self._pattern, first_line=line_range.start_line)
        if self._request.invert:
            lines = non_matching_lines(line_range.text, lines, first_line=line_range.start_line)
        most = self._request.max_count
        return list(islice(lines, None if most is None else most - n_before))

    def _grep_lines(self, line_range: LineRange, spans: Sequence[LineSpan]) -> Iterator[GrepLine]:
        if not spans or not (self._request.before or self._request.after):
            return (self._line(line_range, line, is_match=True) for line in spans)
        return self._with_context(line_range, [line.number for line in spans])

    def _with_context(self, line_range: LineRange, numbers: Sequence[int]) -> Iterator[GrepLine]:
        matching_numbers = set(numbers)
        for line in all_lines(line_range.text, first_line=line_range.start_line):
            # The first match that this line may be context of. Context lines are not listed: they may be millions.
            at = bisect_left(numbers, line.number - self._request.after)
            if at < len(numbers) and numbers[at] <= line.number + self._request.before:
                yield self._line(line_range, line, is_match=line.number in matching_numbers)

    def _line(self, line_range: LineRange, line: LineSpan, *, is_match: bool) -> GrepLine:
        raw = line_range.text[line.start : line.end]
        spans = self._spans(raw) if is_match and not self._request.invert else []
        page = self._page(line_range, line.start + (spans[0][0] if spans else 0))
        spans = spans[: self._request.max_spans]
        if not raw.isascii():
            spans = [(len(raw[:start].decode()), len(raw[:end].decode())) for start, end in spans]
        return GrepLine(line.number, raw.decode(), is_match, tuple(spans), page)

    def _spans(self, raw: bytes) -> list[tuple[int, int]]:
        """Return the matches up to the limit, and at least the first one if it decides the page."""
        most = self._request.max_spans
        least = int(bool(self._page_starts))
        return list(islice(self._pattern.spans(raw), None if most is None else max(most, least)))

    def _page(self, line_range: LineRange, at: int) -> int | None:
        if not self._page_starts:
            return None
        return bisect_right(self._page_starts, line_range.start_char + len(line_range.text[:at].decode())) or 1


_ALL_TEXTS_READ_NOTE: Final = (
    "slow, because all texts were read: the pattern has no rare word in it that the index could look up"
)
_SLOW_SECONDS: Final = 1.0
