"""The records that flow through dirindex, from a file on disk to a hit on a screen.

Only a `FilePath` is stored or compared; it is made by `file_path` and turned back by `os_path`, so that names which
are not valid Unicode survive SQLite, Qdrant and JSON unchanged.

Annotations are evaluated here: `NamedTuple` compiles those that are text one by one, 2 ms in every command.
"""

import os
import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, NewType, TypeAlias

import blake3

FilePath = NewType("FilePath", str)
"""An absolute path as text that any store can hold: bytes that are no UTF-8 are kept as private-use characters."""

ContentHash = NewType("ContentHash", bytes)
"""The first 16 bytes of the blake3 hash of a file's bytes or of a chunk's embedded text."""

ChunkId = NewType("ChunkId", str)
"""The UUIDv5 of a chunk's path, content hash and ordinal: also its Qdrant point id."""

_CHUNK_NAMESPACE = bytes.fromhex("8b0f6c1e5d0a5f3e9f642f6d0c6b7a11")
_STAND_IN_OFFSET = 0x100000
# POSIX names hold any byte, which Python shows as one of 128 surrogates; Windows names hold any surrogate.
_FIRST, _LAST = (0xDC80, 0xDCFF) if os.name == "posix" else (0xD800, 0xDFFF)
_NAME_WORD = re.compile(r"[^\W\d_]{2,}")
_SURROGATES = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")
_STAND_INS = re.compile(f"[{chr(_FIRST + _STAND_IN_OFFSET)}-{chr(_LAST + _STAND_IN_OFFSET)}]")


def file_path(path: str | os.PathLike[str]) -> FilePath:
    """Make the storable form of a path that is already absolute and resolved, or of a part of it; never twice."""
    text = os.fspath(path)
    if text.isascii():
        return FilePath(text)
    if os.name == "posix":
        # A name that holds a stand-in itself is kept as bytes that are no Unicode are, byte by byte.
        text = _STAND_INS.sub(lambda found: os.fsencode(found[0]).decode("ascii", "surrogateescape"), text)
    return FilePath(_SURROGATES.sub(lambda found: chr(ord(found[0]) + _STAND_IN_OFFSET), text))


def os_path(path: FilePath) -> str:
    """Turn a stored path back into one that means the same to the operating system, byte by byte."""
    if path.isascii():
        return path
    return _STAND_INS.sub(lambda found: chr(ord(found[0]) - _STAND_IN_OFFSET), path)


def well_formed(text: str) -> str:
    """Write out what is no Unicode in a text for people, which may name paths as the operating system does."""
    return text.encode("utf-8", "backslashreplace").decode()


def lies_in(path: FilePath, directory: FilePath) -> bool:
    """Tell whether a path is a directory or lies below it."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def prefix_of(directory: FilePath) -> str:
    """Give what the paths of everything in a directory begin with."""
    return directory if directory.endswith(os.sep) else directory + os.sep


def content_hash(content: bytes) -> ContentHash:
    """Hash bytes with blake3; 16 bytes make an accidental collision impossible at any size of index."""
    return ContentHash(blake3.blake3(content).digest(length=16))


def new_chunk_id(path: FilePath, of_content: ContentHash, ordinal: int) -> bytes:
    """Derive the 16 bytes of the id of a chunk, so that writing it twice is writing it once.

    `uuid.uuid5` gives the same in ten times the time.
    """
    # Only a run that reads needs it, and it takes 3 ms to import.
    from hashlib import sha1  # noqa: PLC0415

    name = f"{path}\0{of_content.hex()}\0{ordinal}".encode()
    number = bytearray(sha1(_CHUNK_NAMESPACE + name, usedforsecurity=False).digest()[:16])
    number[6] = number[6] & 0x0F | 0x50
    number[8] = number[8] & 0x3F | 0x80
    return bytes(number)


def chunk_id_bytes(of: ChunkId | str) -> bytes:
    """Give the 16 bytes of a chunk's id. A search turns hundreds of ids over, for which `uuid.UUID` is slow."""
    return bytes.fromhex(of.replace("-", ""))


def chunk_id_from_bytes(raw: bytes) -> ChunkId:
    """Write the id of a chunk as UUIDs are written."""
    digits = raw.hex()
    return ChunkId(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")


class SkipReason(StrEnum):
    """Why a file that was seen is not indexed although nothing went wrong."""

    BINARY = "binary"
    BROKEN_LINK = "broken link"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    NO_TEXT = "no text"
    NOT_REGULAR = "not a regular file"
    SECRET = "secret"  # noqa: S105 - the name of a reason, not a password
    SYMLINK = "symbolic link"
    TOO_LARGE = "too large"


class Stage(StrEnum):
    """Where in a run a file failed."""

    WALK = "walk"
    READ = "read"
    EXTRACT = "extract"
    EMBED = "embed"


Stamp: TypeAlias = tuple[FilePath, int, int, int, int]
"""The values of a `SourceFile`."""

_FINE_NS = 20_000_000
_COARSE_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000
_LARGEST_INTEGER = 2**63 - 1


class SourceFile(NamedTuple):
    """A regular file that the walk found and no rule excludes, with all that changes when the file does.

    `changed_ns` is the time of the last change of anything about it (POSIX: ctime), which no program can set, and
    `inode` tells files apart that were exchanged; both are 0 where the system has nothing that lasts. A tuple, because
    a walk makes one for each of tens of thousands of files.
    """

    path: FilePath
    size: int
    mtime_ns: int
    changed_ns: int = 0
    inode: int = 0

    def is_settled(self, seen_ns: int) -> bool:
        """Tell whether whatever changes the file after `seen_ns`, when the stamp was taken, gives it another stamp.

        A file that was changed just before may change again within the same tick of its file system's clock: one of a
        few milliseconds where times have fractions of a second, or of up to two seconds (FAT).
        """
        changed_ns = self.changed_ns or self.mtime_ns
        return changed_ns + (_FINE_NS if changed_ns % _SECOND_NS else _COARSE_NS) < seen_ns


def stamped(path: FilePath, status: os.stat_result, *, has_inode: bool = True) -> SourceFile:
    """Take the stamp of a file; without `has_inode` its file system numbers files anew now and then."""
    if os.name != "posix":  # ctime is that of the creation there, and a walk is told no inode
        return SourceFile(path, status.st_size, storable(status.st_mtime_ns))
    inode = storable(status.st_ino) if has_inode else 0
    return SourceFile(path, status.st_size, storable(status.st_mtime_ns), storable(status.st_ctime_ns), inode)


def storable(number: int) -> int:
    """Bring a number that a file system gives into the range of SQLite: times may lie in any year."""
    return max(-_LARGEST_INTEGER, min(number, _LARGEST_INTEGER))


def source_file(path: FilePath) -> SourceFile:
    """Stamp a file outside of a walk.

    Raises:
        OSError: the file is not there or its directory cannot be read.
    """
    return stamped(path, os.stat(os_path(path)))


class FileFailure(NamedTuple):
    """A file or directory that could not be processed; the next run tries again.

    With `source`, taken at `seen_ns`, and `hash` the content of the file broke a parser: it is not parsed again until
    the file or the parser is another.
    """

    path: FilePath
    stage: Stage
    message: str
    source: SourceFile | None = None
    hash: ContentHash | None = None
    seen_ns: int = 0


class ParseRequest(NamedTuple):
    """A file to parse, unless its content still has the hash of the text that the index holds (`known_hash`).

    Nor is it parsed while it has the content that broke a parser before: `broken` is the failure of then.
    """

    source: SourceFile
    known_hash: ContentHash | None
    broken: FileFailure | None = None


class UnchangedFile(NamedTuple):
    """A file whose stamp, taken at `seen_ns`, is another but whose bytes are those that are known."""

    source: SourceFile
    hash: ContentHash
    seen_ns: int = 0


class SkippedFile(NamedTuple):
    """A file that was seen and left out, with the reason and, where it helps, the rule or number behind it.

    `source` is its stamp, taken at `seen_ns`, where it is a file that could be looked at.
    """

    path: FilePath
    reason: SkipReason
    detail: str = ""
    source: SourceFile | None = None
    seen_ns: int = 0


class IgnoredPath(NamedTuple):
    """A file or directory that a rule excludes, and the rule as the user would write it, with where it stands."""

    path: FilePath
    rule: str


class Listing(NamedTuple):
    """One directory of a walk; a tuple, as `SourceFile` is.

    `failures` name the directory itself when it could not be read, or entries of it: nothing at or below such a path
    may be taken for deleted. Nor may text of what is ignored from here on when there is `rules_are_lost`: rules that
    could not be read might have brought it back. With `is_mount` another file system begins here;
    `file_system` names it, and that of the root. Where the `digest` is the same and not empty, so is all of this.
    """

    directory: FilePath
    files: tuple[SourceFile, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()
    failures: tuple[FileFailure, ...] = ()
    rules_are_lost: bool = False
    is_mount: bool = False
    file_system: str = ""
    digest: bytes = b""


class SettledDirectory(NamedTuple):
    """A directory of a walk in which the index knew every file, and had nothing to do.

    It has `n_files` indexed files; the rest was skipped, by reason, or ignored.
    """

    digest: bytes
    n_files: int
    skipped: tuple[tuple[SkipReason, int], ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()

    @property
    def n_known(self) -> int:
        """Count the files that the index knows in the directory."""
        return self.n_files + sum(count for _, count in self.skipped)


class Settled(NamedTuple):
    """The directories that are settled, for runs that extract files in the way that `recipe` names."""

    recipe: int = 0
    directories: Mapping[FilePath, SettledDirectory] = MappingProxyType({})


class SameListing(NamedTuple):
    """A directory of a walk that is as it was when it was settled; the rest is as in `Listing`."""

    directory: FilePath
    settled: SettledDirectory
    is_mount: bool = False
    file_system: str = ""


class Section(NamedTuple):
    """A stretch of a document that starts at character `start` and ends where the next one starts.

    `headings` is the path of headings or symbols, outermost first; `page` counts from 1.
    """

    start: int
    headings: tuple[str, ...] = ()
    page: int | None = None


class Document(NamedTuple):
    """The text of one file as one stream, with the places where headings, symbols and pages begin.

    For formats that are text already, `text` has the very lines of the file; for the others (PDF, notebooks) lines
    are counted in `text`. `sections` is sorted by `start` and its first entry, if any, starts at 0.
    """

    text: str
    kind: str
    title: str = ""
    sections: tuple[Section, ...] = ()

    @property
    def page_starts(self) -> tuple[int, ...]:
        """Give the character at which each page begins; a page without text begins where the next one does."""
        starts: list[int] = []
        for section in self.sections:
            while section.page is not None and len(starts) < section.page:
                starts.append(section.start)
        return tuple(starts)


class Chunk(NamedTuple):
    """A stretch of a document's text: characters `start_char` to `end_char`, lines counted from 1, both inclusive.

    Chunks of a document are sorted, cover all of its text, and overlap only with their neighbours, so the document
    can be put together again from them. `heading` is the heading or symbol path joined by ` > `.
    """

    ordinal: int
    text: str
    n_tokens: int
    start_char: int
    end_char: int
    start_line: int
    end_line: int
    page: int | None = None
    heading: str = ""


def embedding_text(chunk: Chunk, path: FilePath) -> str:
    """Give the text that a chunk is embedded as: the words of its file's name, its place in the document, its words.

    Directories are left out, so that a file keeps its vectors when one of them is renamed.
    """
    name = " ".join(_NAME_WORD.findall(os.path.splitext(os.path.basename(path))[0]))
    return "\n".join(part for part in (name, chunk.heading, chunk.text) if part)


class ParsedFile(NamedTuple):
    """A file that was read and cut into chunks, as it was at `hash` and the stamp of `source`, taken at `seen_ns`.

    `n_masked` counts the secrets that were masked in it.
    """

    source: SourceFile
    hash: ContentHash
    kind: str
    title: str
    chunks: tuple[Chunk, ...]
    page_starts: tuple[int, ...] = ()
    seen_ns: int = 0
    n_masked: int = 0


def outcome_path(outcome: ParsedFile | UnchangedFile | SkippedFile | FileFailure) -> FilePath:
    """Tell which file an outcome is about."""
    return outcome.path if isinstance(outcome, SkippedFile | FileFailure) else outcome.source.path


class EmbeddingSpace(NamedTuple):
    """What makes two vectors comparable: the same provider, model, dimensions and document prefix; and where it is.

    `dimensions` is 0 while only the provider knows them; `is_shortened` says that they were asked for.
    """

    provider: str
    model: str
    dimensions: int
    document_prefix: str = ""
    query_prefix: str = ""
    is_shortened: bool = False
    endpoint: str | None = None

    @property
    def name(self) -> str:
        """Name everything that changes the vectors."""
        name = f"{self.provider}/{self.model}"
        name += f" in {self.dimensions} dimensions" if self.is_shortened else ""
        return name + (f" with '{self.document_prefix}'" if self.document_prefix else "")


class VectorLine(NamedTuple):
    """Vectors of one space in one collection: `space` is None while there are none yet.

    `suffix` is what the name of the collection has behind the configured one; it is empty for the first line.
    """

    space: EmbeddingSpace | None = None
    suffix: str = ""


class EmbeddingUsage(NamedTuple):
    """What an embedder was given so far: tokens as the provider counts them, and texts that it read only in part."""

    n_tokens: int = 0
    n_truncated: int = 0


class EmbeddingEstimate(NamedTuple):
    """About how many tokens a run would embed, with what, and what it would redo because of another way."""

    space_name: str
    n_tokens: int
    redone: tuple[str, ...] = ()


class FileState(StrEnum):
    """What the index holds of a file that a run met."""

    INDEXED = "indexed"
    SKIPPED = "skipped"
    FAILED = "failed"


class KnownFile(NamedTuple):
    """What the index knows of a file that an earlier run met.

    Without `is_settled` it was changed just before its stamp was taken, and may have changed again within it. `recipe`
    names the way it was extracted and chunked. `broken_hash` is that of the content that broke a parser, when files
    were read in the way of `broken_recipe`. A tuple for the same reason as `SourceFile`.
    """

    source: SourceFile
    is_settled: bool
    hash: ContentHash | None
    recipe: int
    state: FileState
    reason: str
    detail: str = ""
    broken_hash: ContentHash | None = None
    broken_recipe: int | None = None


class IndexedChunk(NamedTuple):
    """A chunk as the index holds it, with what is known of its file."""

    id: int
    chunk_id: ChunkId
    path: FilePath
    kind: str
    title: str
    mtime_ns: int
    chunk: Chunk


class PendingChunk(NamedTuple):
    """A chunk that is searchable by words and waits for its vector."""

    id: int
    chunk_id: ChunkId
    path: FilePath
    ordinal: int
    text_hash: ContentHash
    embedding_text: str


class EmbeddedChunk(NamedTuple):
    """A chunk's vector, as float32 values in native byte order."""

    id: int
    chunk_id: ChunkId
    text_hash: ContentHash
    vector: bytes


class SearchMode(StrEnum):
    """Which lists of results a search draws on."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


class VectorPlace(StrEnum):
    """Where the vectors of an index are."""

    EMBEDDED = "embedded"
    SERVER = "server"


class Quantization(StrEnum):
    """The codes that a Qdrant server compares first, before the vectors themselves decide."""

    NONE = "none"
    INT8 = "int8"
    BINARY = "binary"


class VectorPoint(NamedTuple):
    """One vector with the payload that Qdrant keeps beside it."""

    chunk_id: ChunkId
    file_path: FilePath
    parent_directories: tuple[FilePath, ...]
    vector: bytes
    """The float32 values in native byte order."""


class PendingVectors(NamedTuple):
    """Vectors that wait to be merged: of each its chunk, the id of its file, and its float32 values, row after row."""

    chunk_ids: tuple[ChunkId, ...]
    file_ids: tuple[int, ...]
    values: bytes


class VectorScope(NamedTuple):
    """Where a hit must lie: in one of the directories, at any depth, or in one of the files; anywhere if none is given.

    A directory counts as a scope if it is a tracked one or lies in one.
    """

    directories: tuple[FilePath, ...] = ()
    files: tuple[FilePath, ...] = ()


class VectorHit(NamedTuple):
    """A chunk that the vector store found, with its cosine similarity."""

    chunk_id: ChunkId
    score: float


class SearchRequest(NamedTuple):
    """What is looked for, and where.

    `scope` holds directories or files, of which a hit must lie in one; `globs` and `kinds` likewise, where given.
    `modified_since` is in seconds since the epoch.
    """

    query: str
    mode: SearchMode = SearchMode.HYBRID
    limit: int = 10
    scope: tuple[FilePath, ...] = ()
    kinds: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    modified_since: float | None = None


class Excerpt(NamedTuple):
    """The part of a chunk that matched, with the (start, end) characters of the matching words in it."""

    text: str
    start_line: int
    end_line: int
    marks: tuple[tuple[int, int], ...] = ()


class Explanation(NamedTuple):
    """Why a hit stands where it does: its rank (from 1) and score in each list, and what moved it."""

    keyword_rank: int | None = None
    keyword_score: float | None = None
    semantic_rank: int | None = None
    semantic_score: float | None = None
    signals: tuple[tuple[str, float], ...] = ()


class Hit(NamedTuple):
    """One passage of an answer. `score` lies between 0 and 1 and means the same from query to query."""

    path: FilePath
    kind: str
    title: str
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


class SearchResult(NamedTuple):
    """An answer: the hits, best first, and what a reader must know to trust them.

    `degraded` holds sentences on what could not be used; `is_weak` says that nothing good was found.
    """

    request: SearchRequest
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    is_truncated: bool = False
    is_weak: bool = False


class Phase(StrEnum):
    """What an index run is doing."""

    WAITING = "waiting"
    WALKING = "walking"
    READING = "reading"
    EMBEDDING = "embedding"
    MERGING = "merging"
    COPYING = "copying"
    DONE = "done"


class Outcome(StrEnum):
    """How an index run ended."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    OUT_OF_TIME = "out of time"
    FAILED = "failed"


class RunProgress(NamedTuple):
    """How far an index run is; totals are 0 while they are not known. `notice` is what somebody should know now.

    While it waits, `waits_for` says who writes.
    """

    phase: Phase
    files_done: int = 0
    files_total: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    chunks_done: int = 0
    chunks_total: int = 0
    n_failed: int = 0
    notice: str = ""
    waits_for: str = ""


class RunRecord(NamedTuple):
    """One index run as all processes see it; times are seconds since the epoch."""

    id: int
    pid: int
    host: str
    command: str
    started_at: float
    heartbeat_at: float
    progress: RunProgress
    outcome: Outcome | None = None
    message: str = ""


class IndexReport(NamedTuple):
    """What an index run did. Files seen = added + changed + moved + unchanged + skipped + failed.

    `n_masked` counts the secrets that were masked in the texts of files that were read.

    `refused` are chunks that stay without a vector because the provider takes everything but them; `unavailable` says
    why chunks wait for a provider that takes nothing.
    """

    outcome: Outcome
    seconds: float
    n_added: int = 0
    n_changed: int = 0
    n_moved: int = 0
    n_unchanged: int = 0
    n_removed: int = 0
    n_ignored: int = 0
    skipped: tuple[tuple[SkipReason, int], ...] = ()
    failures: tuple[FileFailure, ...] = ()
    n_chunks: int = 0
    n_embedded: int = 0
    n_reused: int = 0
    n_masked: int = 0
    n_pending: int = 0
    n_bytes: int = 0
    n_tokens: int = 0
    n_truncated: int = 0
    refused: tuple[FileFailure, ...] = ()
    unavailable: str = ""
    unavailable_roots: tuple[FilePath, ...] = ()

    @property
    def n_skipped(self) -> int:
        """Count the files that were seen and left out for a reason."""
        return sum(count for _, count in self.skipped)

    @property
    def n_failed(self) -> int:
        """Count the files and directories that could not be processed."""
        return len(self.failures)

    @property
    def n_seen(self) -> int:
        """Count every file that the walk met and no rule excludes."""
        return self.n_added + self.n_changed + self.n_moved + self.n_unchanged + self.n_skipped + self.n_failed


class MigrationReport(NamedTuple):
    """What copying vectors to another store came to; of the hits of sample queries so many were as near as before."""

    outcome: Outcome
    seconds: float
    n_vectors: int
    n_copied: int
    n_same_hits: int
    n_compared_hits: int


class DirectoryStatus(NamedTuple):
    """One tracked directory: what of it is searchable by words (`n_chunks`) and by meaning (`n_embedded`).

    `n_refused` chunks are not, because the provider refuses their texts; `n_masked` secrets are masked in them.
    """

    path: FilePath
    is_available: bool
    completed_at: float | None
    n_files: int
    n_bytes: int
    n_chunks: int
    n_embedded: int
    skipped: tuple[tuple[SkipReason, int], ...]
    n_failed: int
    n_refused: int = 0
    n_masked: int = 0


class StatusReport(NamedTuple):
    """The whole index at a glance. While vectors are made anew in `next_space`, those in `space` answer."""

    directories: tuple[DirectoryStatus, ...]
    failures: tuple[FileFailure, ...]
    space: EmbeddingSpace | None
    n_database_bytes: int
    n_vector_bytes: int
    running: RunRecord | None
    last_run: RunRecord | None
    next_space: EmbeddingSpace | None = None
    skipped_files: tuple[SkippedFile, ...] = ()


class FileText(NamedTuple):
    """The indexed text of a file, or a part of it, as `get` gives it."""

    path: FilePath
    kind: str
    title: str
    text: str
    start_line: int
    end_line: int
    n_lines: int
    n_chunks: int
    chunks: tuple[Chunk, ...]
    has_changed: bool


class IndexSummary(NamedTuple):
    """What an answer was drawn from; `is_running` says that a run is changing it."""

    n_directories: int
    n_files: int
    n_chunks: int
    n_embedded: int
    is_running: bool
    completed_at: float | None


class Verdict(StrEnum):
    """What a check of the doctor came to."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    REPAIRED = "repaired"


class Finding(NamedTuple):
    """One thing that was checked, what was found, and what to do about it."""

    check: str
    verdict: Verdict
    message: str
    hint: str = ""
