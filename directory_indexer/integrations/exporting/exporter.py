"""Export of one snapshot of the index, or of some directories, to a file or stream."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TextIO

from directory_indexer import __version__
from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.ids import new_chunk_id
from directory_indexer.core.paths import FilePath, display, lies_in
from directory_indexer.integrations.exporting import ExportFormat, require_free, staged_file
from directory_indexer.integrations.exporting.writers import ExportedFile, ExportStart, ExportWriter, StopRequested, utc
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.files import FileFilter, IndexedFile
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress
from directory_indexer.storage.documents.store import DocStore, Snapshot

EXPORT_VERSION = 1
"""Incremented when a column or key is removed or changes its meaning; additions change nothing."""


class ExportRequest(NamedTuple):
    """The format and the paths to export; without `within`, everything."""

    format: ExportFormat
    within: tuple[FilePath, ...] = ()
    force: bool = False


class ExportReport(NamedTuple):
    """The result of an export. `tracked_in` is the tracked directory that contains the file, if any."""

    outcome: Outcome
    seconds: float
    format: ExportFormat
    file: FilePath | None
    n_files: int
    n_chunks: int
    n_bytes: int = 0
    tracked_in: FilePath | None = None


class Exporter:
    """Exports the index; `own` are paths that it must not overwrite."""

    def __init__(self, *, docstore: DocStore, own: Sequence[FilePath]) -> None:
        self._docstore = docstore
        self._own = own

    def to_stream(self, stream: TextIO, request: ExportRequest) -> ExportReport:
        """Write passages to a stream.

        Raises:
            UsageError: the format is no text.
            NotIndexedError: the index holds nothing of a path.
        """
        write = request.format.text
        if write is None:
            raise UsageError(f"{request.format.title} cannot be written to a stream")
        return self._export(request, lambda _: contextlib.nullcontext(write(stream)))

    def to_file(
        self,
        target: FilePath,
        request: ExportRequest,
        *,
        listener: Callable[[RunProgress], None] = lambda _: None,
        must_stop: Callable[[], bool] = lambda: False,
    ) -> ExportReport:
        """Write a file atomically.

        Raises:
            UsageError: something is there, or it belongs to the index.
            NotIndexedError: the index holds nothing of a path.
            UnavailableError: the file cannot be written.
        """
        require_free(target, self._own, force=request.force)
        started = time.monotonic()
        try:
            with staged_file(target, force=request.force) as draft:
                report = self._export(
                    request,
                    lambda start: request.format.writer(draft, start),
                    listener=listener,
                    must_stop=must_stop,
                )
                report = report._replace(n_bytes=os.stat(draft).st_size)
        except StopRequested:
            seconds = time.monotonic() - started
            return ExportReport(Outcome.INTERRUPTED, seconds, request.format, target, n_files=0, n_chunks=0)
        return report._replace(seconds=time.monotonic() - started, file=target, tracked_in=self._tracked(target))

    def _export(
        self,
        request: ExportRequest,
        open_writer: Callable[[ExportStart], contextlib.AbstractContextManager[ExportWriter]],
        *,
        listener: Callable[[RunProgress], None] = lambda _: None,
        must_stop: Callable[[], bool] = lambda: False,
    ) -> ExportReport:
        started = time.monotonic()
        n_files = n_chunks = 0
        file_filter = FileFilter(within=request.within)
        with self._docstore.snapshot() as snapshot:
            _require_indexed(snapshot, request.within)
            n_all = snapshot.chunks.count_of(file_filter)
            with open_writer(_start(snapshot, request, must_stop)) as writer:
                for exported in _files(snapshot, file_filter):
                    if must_stop():
                        raise StopRequested
                    writer.add(exported)
                    n_files += 1
                    n_chunks += len(exported.chunks)
                    listener(RunProgress(Phase.COPYING, chunks_done=n_chunks, chunks_total=n_all))
                if notice := request.format.finishing:
                    listener(RunProgress(Phase.COPYING, chunks_done=n_chunks, chunks_total=n_all, notice=notice))
                writer.finish()
        return ExportReport(Outcome.COMPLETED, time.monotonic() - started, request.format, None, n_files, n_chunks)

    def _tracked(self, target: FilePath) -> FilePath | None:
        with self._docstore.snapshot() as snapshot:
            return next((root for root in snapshot.directories.all() if lies_in(target, root)), None)


def _require_indexed(snapshot: Snapshot, within: Sequence[FilePath]) -> None:
    for path in within:
        if not snapshot.files.covers(path):
            raise NotIndexedError(
                f"the index holds nothing of '{display(path)}'", hint="dirindex status shows what is indexed"
            )


def _start(snapshot: Snapshot, request: ExportRequest, must_stop: Callable[[], bool]) -> ExportStart:
    completed_at = snapshot.overview.summary().completed_at
    facts = {
        "export_version": str(EXPORT_VERSION),
        "dirindex_version": __version__,
        "exported_at": utc(time.time_ns()),
        "index_completed_at": "" if completed_at is None else utc(int(completed_at) * 1_000_000_000),
        "restricted_to": json.dumps([display(path) for path in request.within]),
    }
    directories = {
        root: id_
        for root, id_ in snapshot.directories.all().items()
        if not request.within or any(lies_in(root, path) or lies_in(path, root) for path in request.within)
    }
    return ExportStart(facts, directories, must_stop)


def _files(snapshot: Snapshot, file_filter: FileFilter) -> Iterator[ExportedFile]:
    roots = {id_: root for root, id_ in snapshot.directories.all().items()}
    for file in snapshot.files.in_order(file_filter):
        yield ExportedFile(file, roots[file.directory_id], _chunks_of(snapshot, file))


def _chunks_of(snapshot: Snapshot, file: IndexedFile) -> list[IndexedChunk]:
    """Return the chunks of a file, each with an id of its own although other files may share them."""
    return [
        stored._replace(chunk_id=new_chunk_id(file.path, file.hash, stored.chunk.ordinal))
        for stored in snapshot.chunks.of_file(file.path)
    ]
