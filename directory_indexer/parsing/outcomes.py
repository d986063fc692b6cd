"""What parsing a file is asked for, and what it comes to."""

from typing import NamedTuple, TypeAlias, TypeGuard

from directory_indexer.chunker.chunks import Chunk
from directory_indexer.extractors.document import FileFacts, Metadata
from directory_indexer.files import FileFailure, SkippedFile, SourceFile
from directory_indexer.ids import ContentHash
from directory_indexer.paths import FilePath, members_directory, prefix_of
from directory_indexer.scans import Scan


class Resumption(NamedTuple):
    """Where to go on in a container over which a worker was lost.

    A step is a member that was parsed or opened, counted in the order in which they lie there. Those before `n_done`
    are done; `broken` are steps over which workers were lost, with what is to be said of them.
    """

    n_done: int
    broken: tuple[tuple[int, str], ...] = ()


class ParseRequest(NamedTuple):
    """A file to parse, unless its content still has the hash of the text that the index holds (`known_hash`).

    Nor is it parsed while it has the content that broke a parser before: `broken` is the failure of then. Of a
    container, `known_members` are the members that the index holds, with the hashes of those that need not be parsed
    as long as they have them.
    """

    source: SourceFile
    known_hash: ContentHash | None
    broken: FileFailure | None = None
    known_members: tuple[tuple[FilePath, ContentHash | None], ...] = ()
    resumption: Resumption | None = None


class UnchangedFile(NamedTuple):
    """A file whose stamp, taken at `seen_ns`, is another but whose bytes are those that are known."""

    source: SourceFile
    hash: ContentHash
    seen_ns: int = 0


class ParsedFile(NamedTuple):
    """A file that was read and cut into chunks, as it was at `hash` and the stamp of `source`, taken at `seen_ns`.

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
    """What some members of a container have come to, each with the number of its step; the container itself follows.

    `n_done` steps are done now. `kept` are members of an inner container whose bytes are known: all of them are as
    they were. `source`, `hash` and `seen_ns` are those of the file on disk.
    """

    source: SourceFile
    hash: ContentHash
    seen_ns: int
    n_done: int = 0
    outcomes: tuple[tuple[int, ParseOutcome], ...] = ()
    kept: tuple[FilePath, ...] = ()
    n_ignored: int = 0


def outcome_path(outcome: ParseOutcome) -> FilePath:
    """Tell which file an outcome is about."""
    return outcome.path if isinstance(outcome, SkippedFile | FileFailure) else outcome.source.path


def is_about(result: object, path: FilePath) -> bool:
    """Return whether what a worker sent is about the file that it was asked for: parsers may have taken it over."""
    if not isinstance(result, MemberOutcomes):
        return _is_outcome(result) and outcome_path(result) == path
    inside = prefix_of(members_directory(path))[:-1]
    paths = [*result.kept, *(outcome_path(outcome) for _, outcome in result.outcomes if _is_outcome(outcome))]
    are_whole = len(paths) == len(result.kept) + len(result.outcomes)
    return are_whole and result.source.path == path and all(one.startswith(inside) for one in paths)


def _is_outcome(result: object) -> TypeGuard[ParseOutcome]:
    if not isinstance(result, ParsedFile | UnchangedFile | SkippedFile | FileFailure):
        return False
    if isinstance(result, SkippedFile | FileFailure) and result.source is None:
        return True
    return isinstance(result.source, SourceFile) and result.source.path == outcome_path(result)
