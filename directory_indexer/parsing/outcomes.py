"""Requests and outcomes of parsing."""

from typing import NamedTuple, TypeAlias, TypeGuard

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.core.files import FileFailure, Scan, SkippedFile, SourceFile
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.paths import FilePath, members_directory, prefix_of
from directory_indexer.formats.document import FileFacts, Metadata


class Resumption(NamedTuple):
    """The point at which to resume a container that crashed a worker.

    A step is a member that was parsed or opened, in order. Those before `n_done` are done; `broken` are steps that
    crashed workers, with messages.
    """

    n_done: int
    broken: tuple[tuple[int, str], ...] = ()


class ParseRequest(NamedTuple):
    """A file to parse, unless its content still has the hash of the indexed text (`known_hash`).

    It is not parsed either while it has the content that crashed a parser: `broken` is the previous failure. For a
    container, `known_members` are its indexed members, with the hashes of those that need not be parsed again while
    unchanged.
    """

    source: SourceFile
    known_hash: ContentHash | None
    broken: FileFailure | None = None
    known_members: tuple[tuple[FilePath, ContentHash | None], ...] = ()
    resumption: Resumption | None = None


class UnchangedFile(NamedTuple):
    """A file with a new stamp, taken at `seen_ns`, but unchanged bytes."""

    source: SourceFile
    hash: ContentHash
    seen_ns: int = 0


class ParsedFile(NamedTuple):
    """A file that was read and chunked, with its `hash` and the stamp in `source`, taken at `seen_ns`.

    `n_masked` counts the secrets that were masked in it.
    """

    source: SourceFile
    hash: ContentHash
    facts: FileFacts
    chunks: tuple[Chunk, ...]
    page_starts: tuple[int, ...] = ()
    seen_ns: int = 0
    n_masked: int = 0
    metadata: Metadata = Metadata()
    scans: tuple[Scan, ...] = ()


ParseOutcome: TypeAlias = ParsedFile | UnchangedFile | SkippedFile | FileFailure


class MemberOutcomes(NamedTuple):
    """Outcomes of some members of a container, each with the number of its step; that of the container follows.

    `n_done` steps are done now. `kept` are members of a nested container whose bytes are unchanged. `source`, `hash`
    and `seen_ns` are those of the file on disk.
    """

    source: SourceFile
    hash: ContentHash
    seen_ns: int
    n_done: int = 0
    outcomes: tuple[tuple[int, ParseOutcome], ...] = ()
    kept: tuple[FilePath, ...] = ()
    n_ignored: int = 0


def outcome_path(outcome: ParseOutcome) -> FilePath:
    """Return the path of the file of an outcome."""
    return outcome.path if isinstance(outcome, SkippedFile | FileFailure) else outcome.source.path


def is_trusted_result_for(result: object, path: FilePath) -> bool:
    """Whether a worker's result is about the requested file: a compromised parser may send anything."""
    if not isinstance(result, MemberOutcomes):
        return _is_outcome(result) and outcome_path(result) == path
    inside = prefix_of(members_directory(path))[:-1]
    paths = [*result.kept, *(outcome_path(outcome) for _, outcome in result.outcomes if _is_outcome(outcome))]
    are_whole = len(paths) == len(result.kept) + len(result.outcomes)
    return are_whole and result.source.path == path and all(member_path.startswith(inside) for member_path in paths)


def _is_outcome(result: object) -> TypeGuard[ParseOutcome]:
    if not isinstance(result, ParsedFile | UnchangedFile | SkippedFile | FileFailure):
        return False
    if isinstance(result, SkippedFile | FileFailure) and result.source is None:
        return True
    return isinstance(result.source, SourceFile) and result.source.path == outcome_path(result)
