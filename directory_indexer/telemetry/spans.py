"""Spans of work, which cost nothing where no receiver is configured.

A fact about a span is a number, a boolean or a word that this program has chosen: never a query, a path, a text or a
name chosen by a user. Of an error only the type is recorded, since its message may contain any of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import Enum, StrEnum
from typing import Final, NewType, Protocol, TypeAlias

Word = NewType("Word", str)
"""A word from a fixed list, a path template or a request id."""

Fact: TypeAlias = bool | int | float | StrEnum | Word

TRACEPARENT: Final = "TRACEPARENT"
"""The environment variable by which OpenTelemetry passes a span on to a child process."""


_TRACE_ID: Final = slice(3, 35)
"""The position of the trace id in a traceparent, `00-TRACE_ID-SPAN_ID-FLAGS`."""


class Kind(Enum):
    """The kind of a span: work within this program, or the handling of a request."""

    WORK = 0
    ANSWER = 1


class Span(Protocol):
    """A span of work in progress."""

    def note(self, **facts: Fact) -> None:
        """Add facts to the span."""

    def end(self) -> None:
        """End the span."""


class Recorder(Protocol):
    """A recorder of spans and log records."""

    def start_span(self, name: str, facts: Mapping[str, Fact]) -> Span:
        """Start a child of the current span."""

    def current(self, name: str, facts: Mapping[str, Fact], *, kind: Kind, within: str) -> AbstractContextManager[Span]:
        """Start a span that is current within a `with` block, and ends with it."""

    def traceparent(self) -> str:
        """Return the W3C `traceparent` of the current span, for another process; empty if there is none."""

    def line(self, level: int, event: str, facts: Mapping[str, object]) -> None:
        """Record a log record."""

    def close(self) -> None:
        """Export the remaining records within a time limit."""


def span(name: str, /, *, within: str = "", **facts: Fact) -> AbstractContextManager[Span]:
    """Record a block of work as a child of the span with the traceparent `within`, or else of the current span."""
    return _recorder.current(name, facts, kind=Kind.WORK, within=within) if _recorder else NOTHING


def answer_span(name: str, /, *, within: str, **facts: Fact) -> AbstractContextManager[Span]:
    """Record the handling of a request: as a child of the client's span if clients are trusted, else linked to it."""
    return _recorder.current(name, facts, kind=Kind.ANSWER, within=within) if _recorder else NOTHING


def start_span(name: str, /, **facts: Fact) -> Span:
    """Start a span of work that is not one `with` block."""
    return _recorder.start_span(name, facts) if _recorder else _NULL_SPAN


def traceparent() -> str:
    """Return the `traceparent` of the current span, for child spans elsewhere; empty if there is none."""
    return _recorder.traceparent() if _recorder else ""


def trace_id() -> str:
    """Return the id of the current trace; empty if there is none."""
    return traceparent()[_TRACE_ID]


def child_environment() -> dict[str, str]:
    """Return the environment variables that make the spans of a child process children of the current span."""
    parent = traceparent()
    return {TRACEPARENT: parent} if parent else {}


def recorder() -> Recorder | None:
    """Return the recorder of this process, if there is one."""
    return _recorder


def set_recorder(recorder: Recorder | None) -> None:
    """Record spans with this recorder from now on, or stop for None."""
    global _recorder  # noqa: PLW0603 - a process has one recorder, like its root logger
    _recorder = recorder


def close() -> None:
    """Export the remaining spans within a time limit, and stop recording."""
    if current := _recorder:
        set_recorder(None)
        current.close()


class _NullSpan:
    def note(self, **facts: Fact) -> None:
        """Discard the facts."""

    def end(self) -> None:
        """Do nothing."""


_NULL_SPAN = _NullSpan()
NOTHING: Final[AbstractContextManager[Span]] = contextlib.nullcontext(_NULL_SPAN)
"""The span of a block that is not recorded."""

_recorder: Recorder | None = None
