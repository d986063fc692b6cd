"""Parsing policy: size limits, chunking, worker processes, and the handling of secrets and scanned pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from directory_indexer.chunking import ChunkPolicy, LineWeights
from directory_indexer.core.files import RecognisedPages
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import Description, Document
from directory_indexer.formats.format import AddedFormat
from directory_indexer.parsing.tasks import Limits
from directory_indexer.walk import WalkPolicy


class Descriptions(Protocol):
    """Descriptions that senders gave of files; picklable, for worker processes."""

    def of(self, path: FilePath) -> Description | None:
        """Return the description of a file, or of a member of one."""


class ParsePolicy(NamedTuple):
    """Parameters of parsing. It is pickled for worker processes, so its functions are module-level ones."""

    max_file_size: int
    include_secrets: bool
    chunking: ChunkPolicy
    count_tokens: Callable[[str], int]
    weigh_lines: LineWeights | None = None
    """Counts the tokens of lines, which is faster for all of a text at once."""

    extract: Callable[[bytes, FilePath], Document] | None = None
    """Replaces the extractor of each file's format."""

    follow_symlinks: bool = False
    n_workers: int = 2
    limits: Limits | None = None
    """Limits of a worker for each file; None for those derived from its kind and size."""

    is_wary: bool = False
    """Whether all files are parsed in worker processes, however small."""

    members: WalkPolicy = WalkPolicy()
    """The members that are excluded from containers."""

    added: tuple[AddedFormat, ...] = ()
    """Configured formats."""

    recognised: RecognisedPages | None = None
    """Pages that OCR has read."""

    descriptions: Descriptions | None = None
    """Descriptions of files that were sent."""

    git_history: str = ""
    """Commits of repositories to read, as in `WalkPolicy`."""

    scratch: Path | None = None
    """The parent of workers' directories; None for the system's temporary directory."""
