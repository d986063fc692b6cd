"""Main loop of a worker process: tasks on standard input, results on standard output.

The kernel enforces its limits even during a call into C: an allocation fails, or an unhandled signal ends the process.
It ends with its parent process, whose end closes the input. Imports here cost every worker.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from queue import SimpleQueue
from typing import IO, Any

from directory_indexer.parsing.tasks import OUT_OF_MEMORY, Limits, WorkerFailure

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

LENGTH_BYTES = 8
READY = b"ready"
NEXT = b"next"
BYE = b"bye"
PART = b"+"
LAST = b"."
"""Prefixes of results: a part of an item's result, or the last of it."""

MAX_FRAME_BYTES = 1 << 30

_N_TASKS = 100
_MAX_GROWTH = 256 << 20
"""A worker is replaced after this many tasks, or this much retained memory, which a library may never free."""

_GRACE_SECONDS = 10
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


def work() -> None:
    """Process tasks until the input ends, or the worker has to be replaced."""
    source, target = _pipes()
    function = pickle.loads(read_frame(source))  # noqa: S301 - from the process that started this one
    _reset_signal_handlers()
    write_frame(target, READY)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive_tasks, args=(source, tasks), daemon=True).start()
    at_first = _address_space()
    for number in range(1, _N_TASKS + 1):
        for item, limits in pickle.loads(tasks.get()):  # noqa: S301 - as above
            _apply_limits(limits)
            for result in _run_to_frames(function, item):
                _lift_limits()
                write_frame(target, result)
                _apply_limits(limits)
            _lift_limits()
        is_last = number == _N_TASKS or _address_space() - at_first > _MAX_GROWTH
        write_frame(target, BYE if is_last else NEXT)
        if is_last:
            break
    os._exit(0)


def write_frame(target: IO[bytes], content: bytes) -> None:
    """Write bytes with a length prefix."""
    target.write(len(content).to_bytes(LENGTH_BYTES, "big") + content)
    target.flush()


def read_frame(source: IO[bytes]) -> bytes:
    """Read bytes written by `write_frame`.

    Raises:
        EOFError: the other side has ended.
        ValueError: the length is invalid.
    """
    length = source.read(LENGTH_BYTES)
    n_bytes = int.from_bytes(length, "big") if len(length) == LENGTH_BYTES else 0
    if n_bytes > MAX_FRAME_BYTES:
        raise ValueError(n_bytes)
    content = source.read(n_bytes)
    if not content or len(content) < n_bytes:
        raise EOFError
    return content


def is_memory_limited() -> bool:
    """Whether the memory limit of this process is lower than when it started."""
    return resource is not None and resource.getrlimit(resource.RLIMIT_AS)[0] != _INITIAL_MEMORY_LIMIT[0]


def _pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Return duplicates of the standard streams, and redirect the originals to the null device: parsers print."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.close(null)
    return source, target


def _receive_tasks(source: IO[bytes], tasks: SimpleQueue[bytes]) -> None:
    try:
        while True:
            tasks.put(read_frame(source))
    except (EOFError, OSError):
        os._exit(1)  # the parent is gone


def _run_to_frames(function: Callable[[Any], object], item: object) -> Iterator[bytes]:
    """Yield the pickled result of an item; a generator yields parts, and its return value is the last."""
    try:
        result = function(item)
        if isinstance(result, Generator):
            result = yield from _part_frames(result)
        yield LAST + _pickle_result(result)
    except MemoryError:
        yield LAST + pickle.dumps(WorkerFailure(OUT_OF_MEMORY, is_proven=is_memory_limited()))
    except Exception as error:  # noqa: BLE001 - whatever cannot leave the process
        yield LAST + pickle.dumps(WorkerFailure(f"could not be handed over ({type(error).__name__})"))


def _part_frames(results: Generator[object, None, object]) -> Generator[bytes, None, object]:
    while True:
        try:
            part = next(results)
        except StopIteration as end:
            return end.value
        yield PART + _pickle_result(part)


def _pickle_result(result: object) -> bytes:
    content = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    if len(content) < MAX_FRAME_BYTES:
        return content
    return pickle.dumps(WorkerFailure("could not be handed over (too large)"))


def _reset_signal_handlers() -> None:
    """Reset the signals of the limits to their defaults, which the parent may have blocked or ignored."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _apply_limits(limits: Limits) -> None:
    # The signals have no handlers: the kernel ends the process.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, limits.seconds)
        signal.alarm(math.ceil(limits.clock_seconds) + _GRACE_SECONDS)
    _limit_memory(_address_space() + limits.memory_bytes)


def _lift_limits() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    _limit_memory(None)


def _limit_memory(n_bytes: int | None) -> None:
    """Limit the address space on Linux: macOS has the limit, but refuses to set it."""
    if resource is not None and sys.platform == "linux":
        soft, hard = _INITIAL_MEMORY_LIMIT
        if n_bytes is not None and (soft == resource.RLIM_INFINITY or n_bytes < soft):
            soft = n_bytes
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[0]) * _PAGE_BYTES


_INITIAL_MEMORY_LIMIT = resource.getrlimit(resource.RLIMIT_AS) if resource is not None else (0, 0)
