"""Turns source files into chunks: reads, extracts, masks secrets and cuts, one outcome for each file.

A file can neither end a run nor hold it up. Where a parser in native code reads it (PDFs, source code with a grammar),
where it is large, and in the bulk of a large job it is parsed in a worker process, whose time and memory the kernel
limits. What else is small is parsed here, for starting a process costs as much as many small files, and takes time in
proportion to its size. After a run that was cut off nothing is parsed here, for a file may have done it.

Source code that breaks its grammar is taken for plain text, so that nothing of it is lost. Any other file that breaks a
worker is a failure, which holds for as long as its content is the same.

What parses is imported where it is needed: for an edited source file that is in a worker alone.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from directory_indexer.chunker import ChunkPolicy
from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.formats import FORMATS, Format
from directory_indexer.extractors.recognition import expected_kind, kind_of
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage
from directory_indexer.ids import content_hash
from directory_indexer.lazy import lazily
from directory_indexer.parsing.outcomes import ParsedFile, ParseRequest, UnchangedFile, outcome_path
from directory_indexer.parsing.reading import FileContent, read
from directory_indexer.parsing.tasks import OUT_OF_MEMORY, Limits, Task, WorkerFailure
from directory_indexer.parsing.workers import run_tasks
from directory_indexer.paths import FilePath

with lazily:
    from directory_indexer import chunker
    from directory_indexer.credentials.files import kind_of_container, kind_of_lone_secret
    from directory_indexer.credentials.redaction import Redaction, redact_document
    from directory_indexer.extractors import registry
    from directory_indexer.parsing.worker import is_memory_limited


_KEY_STORE_HEAD_BYTES = 1 << 16
_LIGHT_BYTES = 1 << 18
_LIGHT_FILES = 100
_FILES_PER_TASK = 32
_BYTES_PER_TASK = 1 << 20

_CODE_BYTES = 256 << 20
_OTHER_BYTES = 512 << 20  # a small PDF may hold large pictures
_BYTES_PER_BYTE = 100
_CLOCK_FACTOR = 10
_MB = 1_000_000
_NO_OUTCOME = "had the process that read it answer something else"


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
    broken: list[ParseRequest] = []
    for request, result in _parse_elsewhere(chain(heavy, requests), policy, must_stop):
        outcome = _outcome_of_lost(request, result, policy) if isinstance(result, WorkerFailure) else result
        if outcome is None:
            broken.append(request)
        else:
            yield outcome
    for request, result in _parse_elsewhere(broken, _as_text(policy), must_stop) if broken else ():
        yield _failure(_read(request, policy), request, result) if isinstance(result, WorkerFailure) else result


def parse(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome:
    """Parse one file in this process, without any limit of time or memory; whatever goes wrong is the outcome."""
    found = _read(request, policy)
    return _parse_content(found, request, policy) if isinstance(found, FileContent) else found


def _parse_elsewhere(
    requests: Iterable[ParseRequest], policy: ParsePolicy, must_stop: Callable[[], bool]
) -> Iterator[tuple[ParseRequest, ParseOutcome | WorkerFailure]]:
    tasks = _tasks(requests, policy)
    results = run_tasks(partial(parse, policy=policy), tasks, n_workers=policy.n_workers, must_stop=must_stop)
    for request, result in results:
        yield (
            request,
            result if isinstance(result, WorkerFailure) or _is_outcome(result, request) else WorkerFailure(_NO_OUTCOME),
        )


def _is_outcome(result: object, request: ParseRequest) -> bool:
    """Tell whether what a worker sent is about the file that it was asked for: parsers may have taken it over."""
    if not isinstance(result, ParsedFile | UnchangedFile | SkippedFile | FileFailure):
        return False
    path = request.source.path
    if isinstance(result, SkippedFile | FileFailure) and result.source is None:
        return result.path == path
    return isinstance(result.source, SourceFile) and result.source.path == outcome_path(result) == path


def _outcome_of_lost(request: ParseRequest, lost: WorkerFailure, policy: ParsePolicy) -> ParseOutcome | None:
    """Tell what becomes of a file over which a worker was lost; None when it is to be parsed again as plain text."""
    found = _read(request, policy)
    if not isinstance(found, FileContent):
        return found
    if not lost.is_proven or not _is_source_code(_format_of(found)):
        return _failure(found, request, lost)
    if policy.is_wary or found.source.size > _LIGHT_BYTES:
        return None
    return _parse_content(found, request, _as_text(policy))


def _as_text(policy: ParsePolicy) -> ParsePolicy:
    return policy._replace(extract=registry.extract_as_text)


def _failure(
    found: FileContent | SkippedFile | FileFailure, request: ParseRequest, lost: WorkerFailure
) -> ParseOutcome:
    if not isinstance(found, FileContent):
        return found
    failure = FileFailure(request.source.path, Stage.EXTRACT, lost.message)
    return _blamed(failure, found) if lost.is_proven else failure


def _parse_light(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome | None:
    if request.source.size > _LIGHT_BYTES or _expected_format(request).is_isolated:
        return None
    found = _read(request, policy)
    if not isinstance(found, FileContent):
        return found
    if _format_of(found).is_isolated:
        return None
    return _parse_content(found, request, policy)


def _expected_format(request: ParseRequest) -> Format:
    return FORMATS[expected_kind(request.source.path)]


def _format_of(found: FileContent) -> Format:
    return FORMATS[kind_of(found.source.path, found.content)]


def _is_source_code(one: Format) -> bool:
    """Tell whether a grammar reads a format: native code that reads text, which can be taken as it is instead."""
    return one.is_isolated and one.is_text


def _read(request: ParseRequest, policy: ParsePolicy) -> FileContent | SkippedFile | FileFailure:
    return read(request.source, max_file_size=policy.max_file_size, follow_symlinks=policy.follow_symlinks)


def _parse_content(found: FileContent, request: ParseRequest, policy: ParsePolicy) -> ParseOutcome:
    source = found.source
    try:
        return _parsed(found, request, policy)
    except SkipFileError as error:
        return _skipped(found, error.reason, error.message)
    except ExtractionError as error:
        return FileFailure(source.path, Stage.EXTRACT, error.message)
    except MemoryError:
        return _out_of_memory(found)
    except Exception as error:  # noqa: BLE001 - one bad file never stops a run
        return FileFailure(source.path, Stage.EXTRACT, _where(error))


def _out_of_memory(found: FileContent) -> FileFailure:
    failure = FileFailure(found.source.path, Stage.EXTRACT, OUT_OF_MEMORY)
    return _blamed(failure, found) if is_memory_limited() else failure


def _blamed(failure: FileFailure, found: FileContent) -> FileFailure:
    """Note the content that broke a parser, so that it is not parsed again."""
    return failure._replace(source=found.source, hash=content_hash(found.content), seen_ns=found.seen_ns)


def _parsed(found: FileContent, request: ParseRequest, policy: ParsePolicy) -> ParseOutcome:
    source, content, seen_ns = found
    of_content = content_hash(content)
    if of_content == request.known_hash:
        return UnchangedFile(source, of_content, seen_ns)
    if request.broken and of_content == request.broken.hash:
        return request.broken._replace(source=source, seen_ns=seen_ns)
    redaction = _redacted(found, policy)
    if isinstance(redaction, SkippedFile):
        return redaction
    document = redaction.document
    chunks = chunker.chunk(document, policy=policy.chunking, count_tokens=policy.count_tokens)
    return ParsedFile(
        source,
        of_content,
        document.facts,
        chunks,
        document.page_starts,
        seen_ns=seen_ns,
        n_masked=redaction.n_masked,
    )


def _redacted(found: FileContent, policy: ParsePolicy) -> Redaction | SkippedFile:
    """Extract a document and mask its secrets, unless the file is a secret as a whole."""
    path, content = found.source.path, found.content
    if policy.include_secrets:
        return Redaction((policy.extract or registry.extract)(content, path))
    if kind := kind_of_container(content[:_KEY_STORE_HEAD_BYTES]):
        return _skipped(found, SkipReason.SECRET, kind)
    document = (policy.extract or registry.extract)(content, path)
    redaction = redact_document(document)
    if kind := redaction.kind_of_all or kind_of_lone_secret(os.path.basename(path), document.text):
        return _skipped(found, SkipReason.SECRET, kind)
    return redaction


def _skipped(found: FileContent, reason: SkipReason, detail: str) -> SkippedFile:
    return SkippedFile(found.source.path, reason, detail, found.source, found.seen_ns)


def _where(error: Exception) -> str:
    # The message of an unforeseen exception may quote the file; the place of the bug says as much.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {os.path.basename(frame.filename)}, line {frame.lineno}"


def _tasks(requests: Iterable[ParseRequest], policy: ParsePolicy) -> Iterator[Task[ParseRequest]]:
    """Gather small files into tasks, so that handing one over costs little; a large file is a task of its own."""
    batch: list[ParseRequest] = []
    n_bytes = 0
    for request in requests:
        size = request.source.size
        if size > _LIGHT_BYTES or not _expected_format(request).is_text:
            yield _task([request], policy)
            continue
        batch.append(request)
        n_bytes += size
        if len(batch) == _FILES_PER_TASK or n_bytes >= _BYTES_PER_TASK:
            yield _task(batch, policy)
            batch, n_bytes = [], 0
    if batch:
        yield _task(batch, policy)


def _task(requests: list[ParseRequest], policy: ParsePolicy) -> Task[ParseRequest]:
    return Task(tuple(requests), tuple(policy.limits or _limits_of(request) for request in requests))


def _limits_of(request: ParseRequest) -> Limits:
    """Tell what a file may use: a quarter of it was enough for each of 3,000 files of Python, C and C++."""
    mb = request.source.size / _MB
    is_code = _is_source_code(_expected_format(request))
    seconds = 3 + 12 * mb if is_code else min(4 + 40 * mb, 30 + 10 * mb)
    memory_bytes = (_CODE_BYTES if is_code else _OTHER_BYTES) + _BYTES_PER_BYTE * request.source.size
    return Limits(seconds, memory_bytes, _CLOCK_FACTOR * seconds)
