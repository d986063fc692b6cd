"""Events of a session in a form common to all assistants: facts about it, turns with their headings, and tool calls.

All that each passage keeps of its turn is the heading, so the time of a turn is parsed back from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias


class Assistant(StrEnum):
    """The program that a session belongs to."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"


class Role(StrEnum):
    """The speaker of a turn."""

    USER = "user"
    ASSISTANT = "assistant"


class ToolKind(StrEnum):
    """The purpose of a tool call."""

    SEARCH = "search"
    """Ranked, semantic or by keywords."""

    GREP = "grep"
    """Exact: every matching line."""

    READ = "read"
    LIST = "list"
    EDIT = "edit"
    SHELL = "shell"
    """Any other command."""

    WEB = "web"
    AGENT = "agent"
    OTHER = "other"


class SessionFacts(NamedTuple):
    """Facts about a session; it may state them several times, and empty ones are unknown."""

    session_id: str = ""
    title: str = ""
    directory: str = ""
    """The working directory."""

    time: str = ""


class Turn(NamedTuple):
    """A message, without the context that the program added; `time` is in ISO 8601, or empty."""

    role: Role
    text: str
    time: str = ""
    is_aside: bool = False
    """Whether it belongs to the conversation of a sub-agent."""


class ToolCall(NamedTuple):
    """A tool call, yielded when its result is known, or at the end of the session."""

    name: str
    kind: ToolKind
    about: str = ""
    """Its arguments on one line: a command, a path, a pattern."""

    time: str = ""
    n_result_bytes: int | None = None
    """The size of the result in UTF-8; None if the file has no result."""

    is_aside: bool = False


Event: TypeAlias = SessionFacts | Turn | ToolCall


class Session(NamedTuple):
    """One session, whose events are read on demand."""

    assistant: Assistant
    events: Iterator[Event]


HEADING_PRECISION_SECONDS: Final = 60
"""The precision of the time in a heading: it may be so much earlier than the turn."""


def turn_heading(role: Role, time: str, *, is_aside: bool) -> str:
    """Format the role and time of a turn; `time` is in UTC, to the second, in ISO 8601, or empty."""
    who = f"{_ASIDE if is_aside else ''}{role}"
    return f"{who}, {time[:10]} {time[11:16]} UTC" if time else who


def turn_time(heading: str) -> float | None:
    """Parse the time in the heading of a turn, in seconds since the epoch; None if it has none."""
    match = _HEADING.match(heading)
    if match is None:
        return None
    try:
        return datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


_ASIDE: Final = "sub-agent, "
_HEADING: Final = re.compile(rf"(?:{_ASIDE})?(?:{'|'.join(Role)}), (\d{{4}}-\d\d-\d\d \d\d:\d\d) UTC\b")
