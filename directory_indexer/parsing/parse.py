"""Parsing of source files into chunks, one outcome for each file.

A file can neither end a run nor block it. Files for native parsers (PDFs, source code with a grammar), large files, and
the bulk of a large job are parsed in worker processes, whose time and memory the kernel limits. Other small files are
parsed in this process, since starting a worker costs as much as many small files, and takes time in proportion to their
size. After an interrupted run nothing is parsed in this process, since a file may have been the cause.

`losses` decides about files that crash a worker. Parsers are imported lazily: for an edited source file only in a
worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice

from directory_indexer.core.lazy import lazily
from directory_indexer.formats.format import Format
from directory_indexer.formats.recognition import expected_format
from directory_indexer.parsing.one_file import needs_worker, parse_content, read_file
from directory_indexer.parsing.outcomes import MemberOutcomes, ParseOutcome, ParseRequest, is_trusted_result_for
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure
from directory_indexer.parsing.workers import run_tasks

with lazily:
    from directory_indexer.parsing.containers import parse_file
    from directory_indexer.parsing.losses import WorkerFailures, policy_for_plain_text


_LIGHT_BYTES = 1 << 18
_LIGHT_FILES = 100
_FILES_PER_TASK = 32
_BYTES_PER_TASK = 1 << 20

_CODE_BYTES = 256 << 20
_OTHER_BYTES = 512 << 20  # a small PDF may contain large images
_MEMORY_PER_INPUT_BYTE = 100
_CLOCK_FACTOR = 10
_MB = 1_000_000
_NO_OUTCOME = "had the process that read it answer something else"


def parse_all(
    requests: Iterable[ParseRequest], policy: ParsePolicy, *, must_stop: Callable[[], bool] = lambda: False
) -> Iterator[ParseOutcome | MemberOutcomes]:
    """Parse files, and yield one outcome for each in order of completion; `must_stop` ends it early.

    Outcomes of members are yielded before that of their container.

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
    rest = chain(heavy, requests)
    for first in rest:
        yield from _parse_heavy(chain([first], rest), policy, must_stop)


def _parse_heavy(
    requests: Iterable[ParseRequest], policy: ParsePolicy, must_stop: Callable[[], bool]
) -> Iterator[ParseOutcome | MemberOutcomes]:
    losses = WorkerFailures(policy)
    for request, result in _parse_in_workers(requests, policy, must_stop):
        yield from losses.settle(request, result)
    while again := losses.take_resumed():
        for request, result in _parse_in_workers(again, policy, must_stop):
            yield from losses.settle(request, result)
    if again := losses.take_texts():
        for request, result in _parse_in_workers(again, policy_for_plain_text(policy), must_stop):
            yield from losses.give_up(request, result)


def _parse_in_workers(
    requests: Iterable[ParseRequest], policy: ParsePolicy, must_stop: Callable[[], bool]
) -> Iterator[tuple[ParseRequest, ParseOutcome | MemberOutcomes | WorkerFailure]]:
    tasks = _tasks(requests, policy)
    results = run_tasks(
        partial(_parse_in_worker, policy=policy),
        tasks,
        n_workers=policy.n_workers,
        scratch=policy.scratch,
        must_stop=must_stop,
    )
    for request, result in results:
        is_answer = isinstance(result, WorkerFailure) or is_trusted_result_for(result, request.source.path)
        yield request, result if is_answer else WorkerFailure(_NO_OUTCOME)  # type: ignore[misc]


def _parse_in_worker(request: ParseRequest, *, policy: ParsePolicy) -> object:
    # A lazily imported function cannot be pickled.
    return parse_file(request, policy)


def _parse_light(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome | None:
    if request.source.size > _LIGHT_BYTES or _expected_format(request, policy).needs_worker:
        return None
    content = read_file(request, policy)
    if not isinstance(content, FileContent):
        return content
    return None if needs_worker(content, policy) else parse_content(content, request, policy)


def _expected_format(request: ParseRequest, policy: ParsePolicy) -> Format:
    return expected_format(request.source.path, policy.added)


def _tasks(requests: Iterable[ParseRequest], policy: ParsePolicy) -> Iterator[Task[ParseRequest]]:
    """Group small files into tasks, so that overhead is low; a large file is a task of its own."""
    batch: list[ParseRequest] = []
    n_bytes = 0
    for request in requests:
        size = request.source.size
        if size > _LIGHT_BYTES or not _expected_format(request, policy).is_text:
            yield _make_task([request], policy)
            continue
        batch.append(request)
        n_bytes += size
        if len(batch) == _FILES_PER_TASK or n_bytes >= _BYTES_PER_TASK:
            yield _make_task(batch, policy)
            batch, n_bytes = [], 0
    if batch:
        yield _make_task(batch, policy)


def _make_task(requests: list[ParseRequest], policy: ParsePolicy) -> Task[ParseRequest]:
    return Task(tuple(requests), tuple(policy.limits or _limits_of(request, policy) for request in requests))


def _limits_of(request: ParseRequest, policy: ParsePolicy) -> Limits:
    """Return the resource limits of a file: a quarter was enough for each of 3,000 files of Python, C and C++.

    Each part of a container gets the limits of a large file.
    """
    expected = _expected_format(request, policy)
    size = min(request.source.size, policy.max_file_size)
    if expected.open is not None:
        size = policy.max_file_size
    mb = size / _MB
    seconds = 3 + 12 * mb if expected.is_source_code else min(4 + 40 * mb, 30 + 10 * mb)
    seconds = max(
        [seconds, *(added_format.seconds for added_format in policy.added if expected == added_format.format)]
    )
    memory_bytes = (_CODE_BYTES if expected.is_source_code else _OTHER_BYTES) + _MEMORY_PER_INPUT_BYTE * size
    return Limits(seconds, memory_bytes, _CLOCK_FACTOR * seconds)
