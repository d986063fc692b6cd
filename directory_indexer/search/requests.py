"""Requests and results of a search, and parsing of the conditions that people and assistants write."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from directory_indexer.core.errors import UsageError
from directory_indexer.core.files import ScannedPassage, SourceFile
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.notes import Note
from directory_indexer.core.paths import FilePath, well_formed
from directory_indexer.formats.document import FileFacts, Metadata
from directory_indexer.ranking.candidates import NO_EXPLANATION, Excerpt, Explanation
from directory_indexer.ranking.name_match import NameMatch
from directory_indexer.ranking.query_syntax import Period, format_iso_date, parse_period
from directory_indexer.ranking.spelling import Correction
from directory_indexer.storage.documents.statistics import IndexSummary

EXCERPT_CHARS: Final = 600


class DiskChange(StrEnum):
    """The change of a file since it was indexed."""

    CHANGED = "changed"
    GONE = "gone"


class SearchMode(StrEnum):
    """The lists of candidates that a search draws on."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


class SortOrder(StrEnum):
    """The order in which the best hits are displayed."""

    SCORE = "score"
    DATE = "date"
    PATH = "path"


class SearchRequest(NamedTuple):
    """A query, and where to search.

    `scope` contains directories or files, one of which must contain a hit; `globs` and `kinds` likewise, if given.
    `since` and `until` are in seconds since the epoch; `metadata` are names with the text that their values must
    contain. Up to `embedding_seconds` are spent on passages that wait for their vectors. With `only_good`, hits that
    are much weaker than the best are dropped.
    """

    query: str
    mode: SearchMode = SearchMode.HYBRID
    limit: int = 10
    scope: tuple[FilePath, ...] = ()
    kinds: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    only_good: bool = False
    excerpt_chars: int = EXCERPT_CHARS
    embedding_seconds: float = 0.0
    grep: str = ""
    """A regular expression that a line of every hit must match; "" for none."""
    queries: tuple[str, ...] = ()
    """Other wordings of the query, or aspects of the question; the results of all are merged."""
    near: FilePath | None = None
    """The working directory: of several files with the same passage, the nearest one is shown."""
    is_prefix: bool = False
    """Whether the last word is still being typed, so that it may be a prefix of others."""

    @property
    def has_filters(self) -> bool:
        """Whether it selects files by anything but their location."""
        return bool(self.kinds or self.globs or self.metadata or self.since is not None or self.until is not None)


class SentDocumentRef(NamedTuple):
    """The id and the name of a sent document that contains a passage; `url` is empty for most."""

    doc_id: str
    filename: str
    url: str = ""


class PassagePair(NamedTuple):
    """A passage of a similar file, and the one of the given file that it is like."""

    score: Annotated[float, "How near they are, 0 to 1."]
    start_line: Annotated[int, "First line in the similar file."]
    end_line: Annotated[int, "Last line there."]
    heading: Annotated[str, "Headings or symbols above it."]
    own_start_line: Annotated[int, "First line in the given file."]
    own_end_line: Annotated[int, "Last line there."]
    own_heading: Annotated[str, "Headings or symbols above it there."]


class FilenameMatch(NamedTuple):
    """A file or directory that was found by its name; `no_text_reason` says why the index has no text of it.

    Without `match`, it has no text and was selected by the filters of the query.
    """

    path: FilePath
    no_text_reason: str = ""
    match: NameMatch | None = None
    file_id: int | None = None
    is_directory: bool = False

    @property
    def has_whole_name(self) -> bool:
        """Whether the query is all of its name, with or without the extension."""
        return self.match is not None and self.match <= NameMatch.STEM


class Hit(NamedTuple):
    """A passage in a result. `score` lies between 0 and 1 and is comparable between queries.

    `page` is where the match begins, `pages` are all pages of the passage. `collection` is set if several were
    searched, or another one than the first; `sent` is set for documents that were sent.
    """

    path: FilePath
    facts: FileFacts
    score: float
    chunk_id: ChunkId
    ordinal: int
    start_line: int
    end_line: int
    page: int | None
    heading: str
    text: str
    excerpt: Excerpt
    n_more_in_file: int = 0
    explanation: Explanation = NO_EXPLANATION
    metadata: Metadata = Metadata()
    start_char: int = 0
    scan: ScannedPassage | None = None
    collection: str = ""
    sent: SentDocumentRef | None = None
    on_disk: DiskChange | None = None
    source: SourceFile | None = None
    """The file as it was indexed."""
    dated_at: float | None = None
    """The date in the document, else the modification time of its file, in seconds since the epoch."""
    agreements: tuple[PassagePair, ...] = ()
    """For a similar file: pairs of matching passages, best first."""

    pages: tuple[int, ...] = ()
    also_in: tuple[FilePath, ...] = ()
    """Other files with the same passage, which is shown once."""

    row: int = 0
    """The row of a sheet in which it matches, counted from 1; 0 if it is unknown."""

    cell: str = ""
    """The name of the first cell of that row that matches: `C333`."""

    named: FilenameMatch | None = None
    """The file or directory, if it was found by name; `text` is that of its best passage, if there is any."""

    @property
    def is_passage(self) -> bool:
        """Whether it is a passage of text, not a directory or a file without text."""
        return self.named is None or not (self.named.is_directory or self.named.no_text_reason)


class SearchResult(NamedTuple):
    """Hits, best first, and what a reader must know to trust them.

    `summary` describes the index that was searched, and `state` identifies that moment. `notes` describe what could
    not be used; `is_weak` means that no hit is good, `was_cut` that `only_good` dropped hits. `corrections` are
    words that were searched for instead of typing errors. `n_named` counts the files and directories with matching
    names, the first of which are among the hits.
    """

    request: SearchRequest
    hits: tuple[Hit, ...]
    notes: tuple[Note, ...] = ()
    is_truncated: bool = False
    is_weak: bool = False
    was_cut: bool = False
    corrections: tuple[Correction, ...] = ()
    summary: IndexSummary = IndexSummary()
    state: str = ""
    n_named: int = 0

    @property
    def note_texts(self) -> tuple[str, ...]:
        """The texts of the notes."""
        return tuple(map(str, self.notes))


def sort_result(order: str, result: SearchResult) -> SearchResult:
    """Return a result in another order: by `date`, newest first, or by `path` and line."""
    match order:
        case "date":
            hits = sorted(result.hits, key=lambda hit: -(hit.dated_at or 0.0))
        case "path":
            hits = sorted(result.hits, key=lambda hit: (hit.path, hit.start_line))
        case _:
            return result
    return result._replace(hits=tuple(hits))


def parse_since(text: str, *, name: str) -> float | None:
    """Return the start of `7d`, `2026-01` or `2026-01-31` in seconds since the epoch; `name` is used in messages.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    period = _parse_period(text, name)
    return period and period.start


def parse_until(text: str, *, name: str) -> float | None:
    """Return the end of `7d`, `2026-01` or `2026-01-31` in seconds since the epoch; `name` is used in messages.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    period = _parse_period(text, name)
    return period and period.end


def metadata_conditions(
    values_by_name: Mapping[str, Iterable[str]], *, names: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return the conditions on the metadata of documents; `names` are the names of the options for messages.

    Raises:
        UsageError: a value is blank, or `created` is not the beginning of a date.
    """
    conditions = tuple(
        (name, well_formed(value).strip()) for name, values in values_by_name.items() for value in values
    )
    for name, value in conditions:
        if not value:
            raise UsageError(f"{names[name]} is empty", hint="leave it out, or give what the document must say")
        if len(value) > _MAX_VALUE_LENGTH:
            raise UsageError(f"{names[name]} is longer than any stored value")
    conditions = tuple((name, format_iso_date(value) if name == "created" else value) for name, value in conditions)
    for name, value in conditions:
        if name == "created" and not re.fullmatch(_DATE_PATTERN, value):
            raise UsageError(
                f"{names[name]} '{value}' is not the beginning of a date", hint="write 2026, 2026-01 or 2026-01-31"
            )
    return conditions


def _parse_period(text: str, name: str) -> Period | None:
    if not text:
        return None
    period = parse_period(text, now=time.time())
    if period is None:
        raise UsageError(
            f"{name} '{text}' is neither an age nor a date",
            hint="write 36h, 7d, 2w, 6m, yesterday, last week or 2026-01-31",
        )
    return period


_MAX_VALUE_LENGTH = 500
_DATE_PATTERN = r"[0-9]{4}(?:-[0-9]{2}){0,2}(?:[Tt][0-9:.+-]*)?"
