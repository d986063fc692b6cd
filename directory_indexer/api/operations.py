"""Operations: the requests that clients can send to a server, over MCP or HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from directory_indexer.core.rights import Right

_Context = TypeVar("_Context")


class Pool(Enum):
    """The queues of a server. Each has its own worker threads, so that no kind of work blocks another."""

    SEARCH = auto()
    """Work that may take seconds."""

    READ = auto()
    """Work that takes milliseconds."""

    WRITE = auto()
    """Work that writes, and may wait for other writers."""

    NETWORK = auto()
    """Work that waits for a web server, which may take a minute for each response."""

    WORKER = auto()
    """Work that a worker process does, such as drawing a page."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation(Generic[_Context]):
    """An operation.

    `arguments` and `answer` are the records of its arguments and its answer; None for an answer that is no record.
    `run` gets the context of a call, which the server makes, and its arguments. It runs in `pool`; without one, it
    takes no time or is a coroutine function. `required_right` is None if no key is needed.
    """

    name: str
    title: str
    description: str
    arguments: type
    answer: type | None
    run: Callable[[_Context, Any], Any]
    pool: Pool | None = None
    required_right: Right | None = Right.READ

    @property
    def is_read_only(self) -> bool:
        """Whether the operation changes nothing."""
        return self.required_right in {Right.READ, None}
