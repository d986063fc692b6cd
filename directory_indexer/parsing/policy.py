"""How files become chunks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from directory_indexer.chunker import ChunkPolicy
from directory_indexer.extractors.document import Description, Document
from directory_indexer.extractors.external import AddedFormat
from directory_indexer.page_cache import PageCache
from directory_indexer.parsing.tasks import Limits
from directory_indexer.paths import FilePath
from directory_indexer.walker.policy import WalkPolicy


class Descriptions(Protocol):
    """Tell what is said of files by whoever sent them; it travels to worker processes, too."""

    def of(self, path: FilePath) -> Description | None:
        """Return what is said of a file, or of a member of one."""


class ParsePolicy(NamedTuple):
    """How files become chunks. It travels to worker processes, so its functions are module-level ones."""

    max_file_size: int
    include_secrets: bool
    chunking: ChunkPolicy
    count_tokens: Callable[[str], int]
    extract: Callable[[bytes, FilePath], Document] | None = None
    """What reads each file, instead of what its kind asks for."""

    follow_symlinks: bool = False
    n_workers: int = 2
    limits: Limits | None = None
    """What a worker may use for each file; None for what follows from its kind and size."""

    is_wary: bool = False
    """Whether worker processes parse everything, however small."""

    members: WalkPolicy = WalkPolicy()
    """What is left out of containers."""

    added: tuple[AddedFormat, ...] = ()
    """Formats that the configuration adds."""

    recognised: PageCache | None = None
    """The pages that OCR has read."""

    descriptions: Descriptions | None = None
    """What is said of files that were sent."""

    git_history: str = ""
    """Which commits of repositories are read, as `WalkPolicy` has it."""

    scratch: Path | None = None
    """The directory around those of workers; None for the system's temporary directory."""
