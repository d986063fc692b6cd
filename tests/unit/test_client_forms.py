"""What assistants are given has the form that their documentation, schema or source asks for.

The forms are written here in our own words; docs/assistants.md names where each was read.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from directory_indexer.integrations.assistants.client_table import CLIENTS
from directory_indexer.integrations.assistants.clients import Launch, Part, snippet
from directory_indexer.integrations.assistants.formats import FORMATS

COMMAND = Launch("/opt/dirindex", ("serve", "--watch"))
ADDRESS = Launch("", (), url="http://127.0.0.1:7333/mcp", has_token=True)

_MAP = {"*": str}
_COMMAND = {"command": str, "args?": [str], "env?": _MAP}
_ADDRESS = {"url": str, "headers?": _MAP}
_GROUP = {"matcher?": str, "hooks": [{"type": "command", "command": str, "timeout?": int}]}

SERVERS: Mapping[str, tuple[tuple[str, ...], object, object]] = {
    "claude-code": (("mcpServers",), {"type?": "stdio", **_COMMAND}, {"type": "http", **_ADDRESS}),
    "claude-desktop": (("mcpServers",), _COMMAND, None),
    "codex": (
        ("mcp_servers",),
        {**_COMMAND, "cwd?": str, "enabled?": bool, "startup_timeout_sec?": float, "tool_timeout_sec?": float},
        {"url": str, "http_headers?": _MAP, "bearer_token_env_var?": str, "enabled?": bool},
    ),
    "cursor": (("mcpServers",), {"type": "stdio", **_COMMAND, "envFile?": str}, _ADDRESS),
    "copilot-cli": (
        ("mcpServers",),
        {"type": ("local", "stdio"), **_COMMAND, "tools": [str]},
        {"type": ("http", "sse"), **_ADDRESS, "tools": [str]},
    ),
    "amp": (("amp.mcpServers",), _COMMAND, _ADDRESS),
    "roo": (
        ("mcpServers",),
        {"type?": "stdio", **_COMMAND, "disabled?": bool, "timeout?": int, "alwaysAllow?": [str]},
        {"type": ("streamable-http", "sse"), **_ADDRESS, "disabled?": bool, "timeout?": int, "alwaysAllow?": [str]},
    ),
}
"""For each client where servers are, and what one looks like that is started, and one that is called."""

HOOKS: Mapping[str, object] = {
    "claude-code": {"hooks": {"SessionStart": [_GROUP]}},
    "codex": {"hooks": {"SessionStart": [_GROUP]}},
    "cursor": {"version": 1, "hooks": {"sessionStart": [{"command": str, "type?": "command", "timeout?": int}]}},
}

SOURCES_OF_A_START = {
    "claude-code": {"startup", "resume", "clear", "compact", "fork"},
    "codex": {"startup", "resume", "clear"},
}
"""What a matcher of the start of a session may name."""

ANSWERS: Mapping[str, object] = {
    "claude-code": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": str}},
    "codex": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext?": str, "env?": _MAP}},
    "cursor": {"additional_context?": str, "env?": _MAP},
}
"""What a hook may print."""


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_has_the_form_that_its_client_reads(name: str) -> None:
    keys, started, called = SERVERS[name]
    for launch, form in ((COMMAND, started), (ADDRESS, called)):
        if form is not None:
            tree = _parsed(name, launch)
            for key in keys:
                tree = tree[key]
            assert tree
            assert fits(tree, {"*": form})


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_has_the_form_that_its_client_reads(name: str) -> None:
    target = CLIENTS[name].parts[Part.HOOKS]
    written = json.loads(FORMATS[target.format].with_entry(target.seed, target.keys, target.value(COMMAND)))
    assert fits(written, HOOKS[name])
    (entry,) = written["hooks"]["sessionStart" if name == "cursor" else "SessionStart"]
    assert set(entry.get("matcher", "startup").split("|")) <= SOURCES_OF_A_START.get(name, {"startup"})
    command = entry["command"] if name == "cursor" else entry["hooks"][0]["command"]
    assert fits(json.loads(command.removeprefix("echo '").removesuffix("'")), ANSWERS[name])


@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if Part.SKILL in client.parts])
def test_a_skill_is_called_as_its_directory_is(name: str) -> None:
    target = CLIENTS[name].parts[Part.SKILL]
    head = str(target.value(COMMAND)).split("---\n")[1].splitlines()
    fields = dict(line.split(": ", 1) for line in head if ": " in line)
    assert fields["name"] == target.places[0].path.split("/")[-2]
    assert 0 < len(fields["description"]) <= 1024


def test_what_does_not_fit_is_noticed() -> None:
    assert not fits({"command": "x", "args": [1]}, _COMMAND)
    assert not fits({"command": "x", "other": 1}, _COMMAND)
    assert not fits({"args": []}, _COMMAND)
    assert not fits({"type": "sse", "url": "x"}, {"type": "http", **_ADDRESS})


def fits(value: object, form: object) -> bool:
    """Tell whether a value has a form.

    An object has the members of its form, those with `?` perhaps, and no others; `*` stands for any name. A tuple holds
    alternatives, a list what each of a list is, a type any value of it, and anything else itself alone.
    """
    if isinstance(form, Mapping):
        return isinstance(value, Mapping) and _members_fit(value, form)
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(one, form[0]) for one in value)
    if isinstance(form, tuple):
        return any(fits(value, one) for one in form)
    return isinstance(value, form) if isinstance(form, type) else value == form


def _members_fit(value: Mapping[str, Any], form: Mapping[str, object]) -> bool:
    if "*" in form:
        return all(fits(one, form["*"]) for one in value.values())
    known = {name.removesuffix("?"): one for name, one in form.items()}
    required = {name for name in form if not name.endswith("?")}
    return required <= set(value) <= set(known) and all(fits(one, known[name]) for name, one in value.items())


def _parsed(name: str, launch: Launch) -> Any:
    text = snippet(CLIENTS[name], launch)
    return tomllib.loads(text) if name == "codex" else json.loads(text)
