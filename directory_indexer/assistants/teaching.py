"""Instructions for assistants about searching, read from the files of the plugin."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Final

_PLUGIN: Final = os.path.join(os.path.dirname(__file__), "plugin")


def skill_text() -> str:
    """Return the skill with its front matter."""
    return _read("skills", "dirindex", "SKILL.md")


def session_text() -> str:
    """Return the instructions at the start of a session, which are also the rules."""
    return _read("hooks", "session-start.txt").strip()


def rule_text(front_matter: str = "") -> str:
    """Return the instructions as a file of rules, below the front matter that the assistant requires."""
    return f"---\n{front_matter}\n---\n\n{session_text()}\n" if front_matter else f"{session_text()}\n"


def announcement(answer: Mapping[str, object]) -> str:
    """Return a command that prints an answer to a hook, in `sh` and in PowerShell.

    The answer must not contain characters that need escaping within single quotes.
    """
    return f"echo '{json.dumps(answer)}'"


def added_context() -> dict[str, object]:
    """Return the answer by which a hook of Claude Code, Codex or Gemini CLI adds the instructions to a session."""
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": session_text()}}


def _read(*names: str) -> str:
    with open(os.path.join(_PLUGIN, *names), encoding="utf-8", newline="\n") as file:
        return file.read()
