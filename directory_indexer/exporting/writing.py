"""Interface of export writers: files are added one by one, then the export is finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from directory_indexer.exporting.rows import ExportedFile
from directory_indexer.paths import FilePath


class ExportStart(NamedTuple):
    """Facts known before the first file: metadata of the export, and the tracked directories with their ids."""

    facts: Mapping[str, str]
    directories: Mapping[FilePath, int]
    must_stop: Callable[[], bool]


class ExportWriter(Protocol):
    """Writes one export."""

    def add(self, exported: ExportedFile) -> None:
        """Write a file with its chunks, now or with the next ones.

        Raises:
            StopRequested: it should stop.
        """

    def finish(self) -> None:
        """Write the rest.

        Raises:
            StopRequested: it should stop.
        """


class FileWriter(ExportWriter, Protocol):
    """Writes one export into a file that it opens and closes."""

    def close(self) -> None:
        """Close the file."""


class StopRequested(Exception):  # noqa: N818 - a request, not an error
    """The export is to stop and to be discarded."""
