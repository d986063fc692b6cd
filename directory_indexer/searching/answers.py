"""What is looked for, and what is found."""

from enum import StrEnum
from typing import Final, NamedTuple

from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.extractors.document import FileFacts, Metadata
from directory_indexer.files import SourceFile
from directory_indexer.ids import ChunkId
from directory_indexer.notes import Note
from directory_indexer.paths import FilePath
from directory_indexer.relevance.evidence import Excerpt, Explanation
from directory_indexer.relevance.name_match import NameMatch
from directory_indexer.relevance.spelling import Correction
from directory_indexer.scans import ScannedPassage

EXCERPT_CHARS: Final = 600


class OnDisk(StrEnum):
    """What became of a file since it was indexed."""

    CHANGED = "changed"
    GONE = "gone"


class SearchMode(StrEnum):
    """Which lists of results a search draws on."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


class Order(StrEnum):
    """In which order the best hits are shown."""

    SCORE = "score"
    DATE = "date"
    PATH = "path"


class SearchRequest(NamedTuple):
    """What is looked for, and where.

    `scope` holds directories or files, of which a hit must lie in one; `globs` and `kinds` likewise, where given.
    `since` and `until` are in seconds since the epoch, `metadata` names with what their values must hold. So many
    `embedding_seconds` may be spent on passages that wait for their vectors. With `only_good`, hits that are much
    weaker than the best are left out.
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
    """A regular expression that a line of every hit matches, or nothing."""
    queries: tuple[str, ...] = ()
    """More wordings of the query, or sides of the question; each is asked, and one answer is made of all."""
    near: FilePath | None = None
    """The directory where it is asked: of several files that have a passage, the nearest one is shown."""
    is_unfinished: bool = False
    """Whether the last word is still being typed, so that it may be the beginning of others."""

    @property
    def has_filters(self) -> bool:
        """Tell whether it names files in another way than by where they are."""
        return bool(self.kinds or self.globs or self.metadata or self.since is not None or self.until is not None)


class SentPlace(NamedTuple):
    """Which document that was sent a passage lies in, and what its sender calls it; `url` is empty for most."""

    doc_id: str
    filename: str
    url: str = ""


class Agreement(NamedTuple):
    """A passage of a similar file, and the passage of the given one that it is like."""

    score: float
    start_line: int
    end_line: int
    heading: str
    own_start_line: int
    own_end_line: int
    own_heading: str


class NamedPlace(NamedTuple):
    """A file or directory that was found by its name, and why the index holds no text of it, if it does not.

    Without `match` it has no text and is what the filters of a query leave.
    """

    path: FilePath
    why_without_text: str = ""
    match: NameMatch | None = None
    file_id: int | None = None
    is_directory: bool = False


class Hit(NamedTuple):
    """One passage of an answer. `score` lies between 0 and 1 and means the same from query to query.

    `page` is where what matched begins, `pages` are all that the passage stands on.
    `collection` is named where several were searched, or another one than the first; `sent` is for documents that were
    sent.
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
    explanation: Explanation = Explanation()
    metadata: Metadata = Metadata()
    start_char: int = 0
    scan: ScannedPassage | None = None
    collection: str = ""
    sent: SentPlace | None = None
    on_disk: OnDisk | None = None
    source: SourceFile | None = None
    """The file as it was indexed."""
    dated_at: float | None = None
    """The time that the document gives itself, else that of the last change of its file, in seconds since the epoch."""
    agreements: tuple[Agreement, ...] = ()
    """Of a similar file, what of it is like what of the given one; best first."""

    pages: tuple[int, ...] = ()
    also_in: tuple[FilePath, ...] = ()
    """Other files with the very passage, which is shown once."""

    row: int = 0
    """The row of a sheet in which it matches, counted from 1; 0 where it is not known."""

    cell: str = ""
    """The first cell of that row that matches, as people name it: `C333`."""

    named: NamedPlace | None = None
    """What the query names, if that is why it stands here; `text` is that of the best passage, if there is any."""

    @property
    def is_passage(self) -> bool:
        """Whether it is a passage of a text, and not a directory or a file without text."""
        return self.named is None or not (self.named.is_directory or self.named.why_without_text)


class SearchResult(NamedTuple):
    """An answer: the hits, best first, and what a reader must know to trust them.

    `summary` sums up what it was drawn from, and `state` names that moment. `notes` say what could not be used;
    `is_weak` says that nothing good was found, `has_weaker` that `only_good` left hits out. `corrections` are words
    that were looked for in place of typing errors. `n_named` files and directories have names that match, of which the
    first are among the hits.
    """

    request: SearchRequest
    hits: tuple[Hit, ...]
    notes: tuple[Note, ...] = ()
    is_truncated: bool = False
    is_weak: bool = False
    has_weaker: bool = False
    corrections: tuple[Correction, ...] = ()
    summary: IndexSummary = IndexSummary()
    state: str = ""
    n_named: int = 0

    @property
    def degraded(self) -> tuple[str, ...]:
        """The texts of the notes."""
        return tuple(map(str, self.notes))


def sorted_by(order: str, result: SearchResult) -> SearchResult:
    """Put the hits in another order than the best first: by `date`, newest first, or by `path` and line."""
    match order:
        case "date":
            hits = sorted(result.hits, key=lambda hit: -(hit.dated_at or 0.0))
        case "path":
            hits = sorted(result.hits, key=lambda hit: (hit.path, hit.start_line))
        case _:
            return result
    return result._replace(hits=tuple(hits))
