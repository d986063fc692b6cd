"""Constructors for the rows of the table of assistants: places and targets."""

from __future__ import annotations

from collections.abc import Callable

from directory_indexer.assistants import teaching
from directory_indexer.assistants.clients import Target
from directory_indexer.assistants.entries import IN_LIST
from directory_indexer.assistants.formats import FormatName
from directory_indexer.assistants.launching import SERVER_NAME, Launch
from directory_indexer.assistants.places import Base, Place


def at_home(path: str) -> Place:
    """Return a place below the home directory."""
    return Place(Base.HOME, path)


def in_config(path: str, windows: str = "") -> Place:
    """Return a place below the user's configuration directory; `windows` is the path below AppData."""
    return Place(Base.CONFIG, path, windows)


def in_application(path: str) -> Place:
    """Return a place below the system's directory of application data."""
    return Place(Base.APPLICATION, path)


def of_claude(path: str) -> Place:
    """Return a place in the directory of Claude Code."""
    return Place(Base.HOME, f".claude/{path}", variable="CLAUDE_CONFIG_DIR", inner=path)


def of_codex(path: str) -> Place:
    """Return a place in the directory of Codex."""
    return Place(Base.HOME, f".codex/{path}", variable="CODEX_HOME", inner=path)


def of_copilot(path: str) -> Place:
    """Return a place in the directory of the GitHub Copilot CLI."""
    return Place(Base.HOME, f".copilot/{path}", variable="COPILOT_HOME", inner=path)


def servers(key: str, entry: Callable[[Launch], object], *places: Place) -> Target:
    """Return a target for the server below a key, in JSON."""
    return Target(places, FormatName.JSON, (key, SERVER_NAME), entry)


def skill(place: Place) -> Target:
    """Return a target for the skill in a file of its own."""
    return Target((place,), FormatName.WHOLE, (), lambda _: teaching.skill_text())


def rule_block(*places: Place) -> Target:
    """Return a target for the rules in a block among other rules."""
    return Target(places, FormatName.MARKED, (), lambda _: teaching.session_text())


def rule_file(place: Place, front_matter: str = "") -> Target:
    """Return a target for the rules in a file of their own, below the front matter that the assistant requires."""
    return Target((place,), FormatName.WHOLE, (), lambda _: teaching.rule_text(front_matter))


def group_hook(place: Place, **matcher: str) -> Target:
    """Return a target for the hook at the start of a session, in the schema of Claude Code."""

    def entry(_: Launch) -> object:
        return {**matcher, "hooks": [{"type": "command", "command": teaching.announcement(teaching.added_context())}]}

    return Target((place,), FormatName.JSON, ("hooks", "SessionStart", IN_LIST), entry)


def cursor_hook(_: Launch) -> object:
    """Return the hook in the schema of Cursor."""
    return {"command": teaching.announcement({"additional_context": teaching.session_text()})}
