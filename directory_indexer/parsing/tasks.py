"""Tasks of worker processes, their limits, and failures in place of results."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
OUT_OF_MEMORY = "needs more memory than it may use"


class Limits(NamedTuple):
    """Resource limits for one item.

    `seconds` of processor time are enforced by the kernel, so that no call into C escapes them. `clock_seconds` apply
    where the kernel cannot, and to waiting.
    """

    seconds: float = 30.0
    memory_bytes: int = 1 << 30
    clock_seconds: float = 300.0


class Task(NamedTuple, Generic[Item]):
    """Items that one worker processes in order, each within its own limits."""

    items: tuple[Item, ...]
    limits: tuple[Limits, ...]
    was_tried: bool = False
    """Whether its single item crashed a worker before."""


class WorkerFailure(NamedTuple):
    """The result of an item whose worker was stopped or died.

    `is_proven` if the item caused it, not someone who ended the process. `is_proven` says that the item did it, and not
    somebody who ended the process.
    """

    message: str
    is_proven: bool = True
