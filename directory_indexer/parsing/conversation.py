"""Communication with one worker process: tasks sent to it, events received from it, and the cause of its end."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import subprocess
import threading
import time
from collections import deque
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from directory_indexer.isolation import NEUTRAL_DIRECTORY, isolated_command
from directory_indexer.parsing.tasks import Limits, Task
from directory_indexer.parsing.worker import PART, read_frame, write_frame
from directory_indexer.scratch import ScratchDirectory

_START_SECONDS = 300.0
_END_SECONDS = 10.0
_VARIABLES = (
    *("LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH"),
)
"""Environment variables of a worker: encoding and library paths, but no keys of services."""

_PLACES = ("TMPDIR", "TEMP", "TMP")
_FROM_OUTSIDE = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"})
_CAN_COUNT_PROCESSOR_TIME = hasattr(signal, "setitimer")


class Event(NamedTuple):
    """A message from a worker; None is its end."""

    worker: Worker
    content: bytes | None


class Cause(NamedTuple):
    """The cause of a worker's end."""

    message: str
    is_proven: bool
    """Whether the item caused it. Waiting may be due to a disk, a network or a suspended machine."""

    is_limit: bool = False


class Worker:
    """A process with its tasks, and the thread that communicates with it, since writing to a hanging process blocks.

    Raises:
        OSError: no process can be started.
        RuntimeError: no thread can be started.
    """

    def __init__(self, function: bytes, events: SimpleQueue[Event], scratch: Path | None = None) -> None:
        self.tasks: deque[Task[Any]] = deque()
        self.items: deque[Any] = deque()
        """What is left of the first task."""

        self.was_ready = False
        self._function = function
        self._events = events
        self._inbox: SimpleQueue[tuple[bytes, tuple[Limits, ...]] | None] = SimpleQueue()
        self._deadline = time.monotonic() + _START_SECONDS
        self._missed_deadline = 0.0
        self._has_ended = False
        self._is_unreadable = False
        self._scratch = ScratchDirectory(scratch)
        try:
            self._process = _start(str(self._scratch.path))
        except OSError:
            self._scratch.remove()
            raise
        self._thread = threading.Thread(target=self._talk, name="worker", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._process.kill()
            self._close()
            raise

    def give(self, task: Task[Any]) -> None:
        """Enqueue a task."""
        self.tasks.append(task)
        if len(self.tasks) == 1:
            self.items.extend(task.items)
        self._inbox.put((pickle.dumps([*zip(task.items, task.limits, strict=True)]), task.limits))

    @property
    def process_id(self) -> int:
        """The id of the process."""
        return self._process.pid

    def open_next_task(self) -> None:
        """Mark the first task as done."""
        self.tasks.popleft()
        self.items = deque(self.tasks[0].items if self.tasks else ())

    def rest(self) -> list[Task[Any]]:
        """Return the unfinished tasks."""
        n_left = len(self.items)
        first = [Task(task.items[-n_left:], task.limits[-n_left:], task.was_tried) for task in islice(self.tasks, 1)]
        return [*(first if n_left else ()), *islice(self.tasks, 1, None)]

    def end_if_late(self) -> None:
        """Kill the process if it exceeded the time limit of an item."""
        deadline = self._deadline
        if deadline < time.monotonic():
            self._missed_deadline = deadline
            self._process.kill()

    def end(self) -> None:
        """End the process unconditionally, and release its resources."""
        if self._has_ended:  # or is about to; wait for its exit status
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._process.kill()
        self._inbox.put(None)
        self._thread.join()
        self._close()

    def cause(self, seconds: float) -> Cause:
        """Return the cause of its end."""
        name = _exit_name(self._process.returncode)
        if name == "SIGPROF":
            return Cause(f"took longer than {seconds:g} seconds", is_proven=True, is_limit=True)
        # It may have completed another item just before it was killed.
        if name == "SIGALRM" or self._missed_deadline == self._deadline:
            is_proven = not _CAN_COUNT_PROCESSOR_TIME
            return Cause(f"took longer than {seconds:g} seconds", is_proven=is_proven, is_limit=True)
        if self._is_unreadable:
            return Cause("had the process that read it send nonsense", is_proven=True)
        return Cause(f"ended the process that read it ({name})", is_proven=name not in _FROM_OUTSIDE)

    def _talk(self) -> None:
        try:
            self._converse()
        except (EOFError, OSError):
            self._has_ended = True
        except (ValueError, MemoryError):
            self._is_unreadable = True
            self._process.kill()
        finally:
            self._events.put(Event(self, None))

    def _converse(self) -> None:
        source, target = self._process.stdout, self._process.stdin
        if source is None or target is None:
            raise EOFError
        write_frame(target, self._function)
        first = read_frame(source)
        self._deadline = math.inf
        self.was_ready = True
        self._events.put(Event(self, first))
        while (task := self._inbox.get()) is not None:
            content, all_limits = task
            write_frame(target, content)
            for limits in all_limits:
                has_more = True
                while has_more:
                    self._deadline = time.monotonic() + limits.clock_seconds
                    result = read_frame(source)
                    self._events.put(Event(self, result))
                    has_more = result.startswith(PART)
            self._deadline = time.monotonic() + _START_SECONDS
            self._events.put(Event(self, read_frame(source)))
            self._deadline = math.inf

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent data
                    pipe.close()
        self._process.wait()
        self._scratch.remove()


def _start(scratch: str) -> subprocess.Popen[bytes]:
    """Start a process whose temporary files are in a directory that is removed after it ends."""
    return subprocess.Popen(  # noqa: S603 - this program
        isolated_command("directory_indexer.parsing.worker:work", is_bare=True),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=NEUTRAL_DIRECTORY,
        # One heap for both threads: each further one takes 64 MB of address space.
        env={name: os.environ[name] for name in _VARIABLES if name in os.environ}
        | {"MALLOC_ARENA_MAX": "1", **dict.fromkeys(_PLACES, scratch)},
        start_new_session=True,  # Ctrl+C is handled by this process
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _exit_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
