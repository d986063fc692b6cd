"""Turns source files into chunks: reads, extracts, masks secrets and cuts, one outcome for each file.

A file can neither end a run nor hold it up. What is small is parsed here, for starting a process costs as much as a
hundred small files, and takes time in proportion to its size; PDFs, large files and the bulk of a large job go to
worker processes, whose time and memory are limited and whose death is the failure of one file. After a run that was
cut off nothing is parsed here, for a file may have done it.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

from directory_indexer import chunker
from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.kinds import kind_of
from directory_indexer.extractors.registry import extract
from directory_indexer.parsing.reading import FileContent, read
from directory_indexer.parsing.workers import Lost, Task, WorkerLimits, run_tasks
from directory_indexer.records import (
    FileFailure,
    ParsedFile,
    SkippedFile,
    SkipReason,
    Stage,
    UnchangedFile,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from directory_indexer.chunker import ChunkPolicy
    from directory_indexer.credentials import Redaction
    from directory_indexer.records import ContentHash, Document, FilePath, ParseRequest, SourceFile

_HEAD_BYTES = 1 << 16
_LIGHT_BYTES = 1 << 18
_LIGHT_FILES = 100
_ISOLATED_KINDS = frozenset({"pdf"})
_FILES_PER_TASK = 32
_BYTES_PER_TASK = 1 << 20


@dataclass(frozen=True, slots=True)
class ParsePolicy:
    """How files become chunks. It travels to worker processes, so its functions are module-level ones."""

    max_file_size: int
    include_secrets: bool
    chunking: ChunkPolicy
    count_tokens: Callable[[str], int]
    extract: Callable[[bytes, FilePath], Document] = extract
    follow_symlinks: bool = False
    limits: WorkerLimits = field(default_factory=WorkerLimits)
    is_wary: bool = False
    """Whether worker processes parse everything, however small."""


ParseOutcome: TypeAlias = ParsedFile | UnchangedFile | SkippedFile | FileFailure


def parse_all(
    requests: Iterable[ParseRequest], policy: ParsePolicy, *, must_stop: Callable[[], bool] = lambda: False
) -> Iterator[ParseOutcome]:
    """Parse files, and yield one outcome for each in the order that they are done; `must_stop` ends it early.

    Raises:
        UnavailableError: worker processes are needed and do not stay alive.
    """
    requests = iter(requests)
    heavy: list[ParseRequest] = []
    for request in islice(requests, 0 if policy.is_wary else _LIGHT_FILES):
        if must_stop():
            return
        outcome = _parse_light(request, policy)
        if outcome is None:
            heavy.append(request)
        else:
            yield outcome
    tasks = _tasks(chain(heavy, requests), policy.limits)
    for request, result in run_tasks(partial(parse, policy=policy), tasks, limits=policy.limits, must_stop=must_stop):
        yield FileFailure(request.source.path, Stage.EXTRACT, result.message) if isinstance(result, Lost) else result


def parse(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome:
    """Parse one file in this process, without any limit of time or memory; whatever goes wrong is the outcome."""
    found = _read(request, policy)
    return _parse_content(found, request, policy) if isinstance(found, FileContent) else found


def _parse_light(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome | None:
    if not _is_light(request):
        return None
    found = _read(request, policy)
    if not isinstance(found, FileContent):
        return found
    if kind_of(found.source.path, found.content[:_HEAD_BYTES]) in _ISOLATED_KINDS:
        return None
    return _parse_content(found, request, policy)


def _is_light(request: ParseRequest) -> bool:
    path, size, _ = request.source
    return size <= _LIGHT_BYTES and PurePath(path).suffix.lower().removeprefix(".") not in _ISOLATED_KINDS


def _read(request: ParseRequest, policy: ParsePolicy) -> FileContent | SkippedFile | FileFailure:
    return read(request.source, max_file_size=policy.max_file_size, follow_symlinks=policy.follow_symlinks)


def _parse_content(found: FileContent, request: ParseRequest, policy: ParsePolicy) -> ParseOutcome:
    source = found.source
    try:
        return _parsed(found, request.known_hash, policy)
    except SkipFileError as error:
        return _skipped(source, error.reason, error.message)
    except ExtractionError as error:
        return FileFailure(source.path, Stage.EXTRACT, error.message)
    except MemoryError:
        return FileFailure(source.path, Stage.EXTRACT, "needs more memory than it may use")
    except Exception as error:  # noqa: BLE001 - one bad file never stops a run
        return FileFailure(source.path, Stage.EXTRACT, _where(error))


def _parsed(found: FileContent, known_hash: ContentHash | None, policy: ParsePolicy) -> ParseOutcome:
    source, content = found
    of_content = content_hash(content)
    if of_content == known_hash:
        return UnchangedFile(source, of_content)
    redaction = _redacted(content, source, policy)
    if isinstance(redaction, SkippedFile):
        return redaction
    document = redaction.document
    chunks = chunker.chunk(document, policy=policy.chunking, count_tokens=policy.count_tokens)
    return ParsedFile(
        source,
        of_content,
        document.kind,
        document.title,
        chunks,
        document.page_starts,
        n_redacted=redaction.n_redacted,
    )


def _redacted(content: bytes, source: SourceFile, policy: ParsePolicy) -> Redaction | SkippedFile:
    """Extract a document and mask its secrets, unless the file is a secret as a whole."""
    # The patterns take 90 ms to compile, which commands that parse nothing should not pay.
    from directory_indexer.credentials import Redaction, redact_document  # noqa: PLC0415
    from directory_indexer.credentials.files import kind_of_container, kind_of_lone_secret  # noqa: PLC0415

    if policy.include_secrets:
        return Redaction(policy.extract(content, source.path))
    if kind := kind_of_container(content[:_HEAD_BYTES]):
        return _skipped(source, SkipReason.SECRET, kind)
    document = policy.extract(content, source.path)
    redaction = redact_document(document)
    if kind := redaction.kind_of_all or kind_of_lone_secret(PurePath(source.path).name, document.text):
        return _skipped(source, SkipReason.SECRET, kind)
    return redaction


def _skipped(source: SourceFile, reason: SkipReason, detail: str) -> SkippedFile:
    return SkippedFile(source.path, reason, detail, size=source.size, mtime_ns=source.mtime_ns)


def _where(error: Exception) -> str:
    # The message of an unforeseen exception may quote the file; the place of the bug says as much.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {PurePath(frame.filename).name}, line {frame.lineno}"


def _tasks(requests: Iterable[ParseRequest], limits: WorkerLimits) -> Iterator[Task[ParseRequest]]:
    """Gather small files into tasks, so that handing one over costs little; a large file is a task of its own."""
    batch: list[ParseRequest] = []
    n_bytes = 0
    for request in requests:
        size = request.source.size
        if not _is_light(request):
            yield Task((request,), limits.seconds_for(size))
            continue
        batch.append(request)
        n_bytes += size
        if len(batch) == _FILES_PER_TASK or n_bytes >= _BYTES_PER_TASK:
            yield Task(tuple(batch), limits.seconds_for(n_bytes))
            batch, n_bytes = [], 0
    if batch:
        yield Task(tuple(batch), limits.seconds_for(n_bytes))
