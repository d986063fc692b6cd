"""The whole index at a glance."""

from typing import NamedTuple

from directory_indexer.docstore.runs import RunRecord
from directory_indexer.docstore.summaries import DirectoryStatus
from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.files import FileFailure, SkippedFile


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
