"""Spans of what is done, which cost nothing where no receiver is configured.

A fact about a span is a number, a truth value or a word that this program has chosen: never a query, a path, a text or
a name that somebody gave. Of an error only the type is recorded, for its message may hold any of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import Enum, StrEnum
from typing import Final, NewType, Protocol, TypeAlias

Word = NewType("Word", str)
"""A word of a fixed list, the template of a path, or the id of a request."""

Fact: TypeAlias = bool | int | float | StrEnum | Word

TRACEPARENT: Final = "TRACEPARENT"
"""The variable by which OpenTelemetry hands a span on to a child process."""


_TRACE_ID: Final = slice(3, 35)
"""Where a traceparent has it: `00-TRACE_ID-SPAN_ID-FLAGS`."""


class Kind(Enum):
    """Whether a span is an answer to somebody elsewhere, or work within this program."""

    WORK = 0
    ANSWER = 1


class Span(Protocol):
    """Something that is being done."""

    def note(self, **facts: Fact) -> None:
        """Add facts."""

    def end(self) -> None:
        """End it."""


class Recorder(Protocol):
    """Records spans and lines of the log."""

    def begun(self, name: str, facts: Mapping[str, Fact]) -> Span:
        """Begin a span that is a part of the current one."""

    def current(self, name: str, facts: Mapping[str, Fact], *, kind: Kind, within: str) -> AbstractContextManager[Span]:
        """Begin a span that is the current one for a block, and ends with it."""

    def traceparent(self) -> str:
        """Give the W3C `traceparent` of the current span, for another process; empty if there is none."""

    def line(self, level: int, event: str, facts: Mapping[str, object]) -> None:
        """Record a line of the log."""

    def close(self) -> None:
        """Hand over what is left, if that takes little time."""


def span(name: str, /, *, within: str = "", **facts: Fact) -> AbstractContextManager[Span]:
    """Record a block of work as part of the span that `within` names, or else of the current one."""
    return _recorder.current(name, facts, kind=Kind.WORK, within=within) if _recorder else NOTHING


def answer_span(name: str, /, *, within: str, **facts: Fact) -> AbstractContextManager[Span]:
    """Record an answer: part of the span that its client names if clients are trusted, and linked to it otherwise."""
    return _recorder.current(name, facts, kind=Kind.ANSWER, within=within) if _recorder else NOTHING


def begun(name: str, /, **facts: Fact) -> Span:
    """Record work that does not end with a block."""
    return _recorder.begun(name, facts) if _recorder else _SILENCE


def traceparent() -> str:
    """Name the current span, so that work elsewhere can be part of it; empty if there is none."""
    return _recorder.traceparent() if _recorder else ""


def trace_id() -> str:
    """Give the id that all spans of one piece of work share, to find them by; empty if there is none."""
    return traceparent()[_TRACE_ID]


def for_child() -> dict[str, str]:
    """Give the variables that make the spans of a child process parts of the current one."""
    about = traceparent()
    return {TRACEPARENT: about} if about else {}


def recorder() -> Recorder | None:
    """Give the recorder of this process, if there is one."""
    return _recorder


def record_with(recorder: Recorder | None) -> None:
    """Record spans from now on, or stop."""
    global _recorder  # noqa: PLW0603 - one of a process, like the root of its loggers
    _recorder = recorder


def close() -> None:
    """Hand over what was noted and is not sent yet, as far as that takes little time; nothing is noted any more."""
    if told := _recorder:
        record_with(None)
        told.close()


class _Silence:
    def note(self, **facts: Fact) -> None:
        """Say it to nobody."""

    def end(self) -> None:
        """End nothing."""


_SILENCE = _Silence()
NOTHING: Final[AbstractContextManager[Span]] = contextlib.nullcontext(_SILENCE)
"""A block of which nobody takes note."""

_recorder: Recorder | None = None
