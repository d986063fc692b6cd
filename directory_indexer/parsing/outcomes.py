"""What parsing a file is asked for, and what it comes to."""

from typing import NamedTuple

from directory_indexer.chunker.chunks import Chunk
from directory_indexer.extractors.document import FileFacts
from directory_indexer.files import FileFailure, SkippedFile, SourceFile
from directory_indexer.ids import ContentHash
from directory_indexer.paths import FilePath


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


def outcome_path(outcome: ParsedFile | UnchangedFile | SkippedFile | FileFailure) -> FilePath:
    """Tell which file an outcome is about."""
    return outcome.path if isinstance(outcome, SkippedFile | FileFailure) else outcome.source.path
