"""What a worker process is given, within which limits, and what stands for a result that never came."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
OUT_OF_MEMORY = "needs more memory than it may use"


class Limits(NamedTuple):
    """What the work on one item may use.

    `seconds` are those of the processor, and the kernel keeps count of them, so that no call into C escapes. Where it
    cannot do that, and for what waits instead of working, there are `clock_seconds`.
    """

    seconds: float = 30.0
    memory_bytes: int = 1 << 30
    clock_seconds: float = 300.0


class Task(NamedTuple, Generic[Item]):
    """Items that one worker takes one after the other, each within its own limits."""

    items: tuple[Item, ...]
    limits: tuple[Limits, ...]
    was_tried: bool = False
    """Whether a worker was lost over its one item before."""


class WorkerFailure(NamedTuple):
    """What stands for a result that never came, because the worker was stopped or died.

    `is_proven` says that the item did it, and not somebody who ended the process.
    """

    message: str
    is_proven: bool = True
