"""What a session with an assistant comes to, whichever wrote it: facts about it, turns, and calls of tools."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class Assistant(StrEnum):
    """Whose session it is."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"


class Role(StrEnum):
    """Who says something."""

    USER = "user"
    ASSISTANT = "assistant"


class ToolKind(StrEnum):
    """What a tool was called for."""

    SEARCH = "search"
    """Ranked: by meaning or by words."""

    GREP = "grep"
    """Exact: every line that matches."""

    READ = "read"
    LIST = "list"
    EDIT = "edit"
    SHELL = "shell"
    """A command that does none of the others."""

    WEB = "web"
    AGENT = "agent"
    OTHER = "other"


class About(NamedTuple):
    """What a session says of itself; it may say so several times, and what is empty was not said."""

    session_id: str = ""
    title: str = ""
    directory: str = ""
    """The working directory."""

    time: str = ""


class Turn(NamedTuple):
    """Something that was said, without what the program put around it; `time` is in ISO 8601, or empty."""

    role: Role
    text: str
    time: str = ""
    is_aside: bool = False
    """Whether it belongs to the conversation with another agent that the assistant started."""


class ToolCall(NamedTuple):
    """A call of a tool, which comes when its result is known, or at the end of the session."""

    name: str
    kind: ToolKind
    about: str = ""
    """On one line what it was called with: a command, a path, a pattern."""

    time: str = ""
    n_result_bytes: int | None = None
    """How much text the assistant was given, in UTF-8; None where no result is in the file."""

    is_aside: bool = False


Event: TypeAlias = About | Turn | ToolCall


class Session(NamedTuple):
    """One session, read as its events are asked for."""

    assistant: Assistant
    events: Iterator[Event]
