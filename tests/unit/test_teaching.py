"""What assistants are told is written once, and what is published of it agrees."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import directory_indexer
from directory_indexer.integrations.assistants.client_table import (
    CLIENTS,
    added_context,
    hook_command,
    session_text,
    skill_text,
)
from directory_indexer.integrations.assistants.clients import SERVER_NAME, Base, Launch, Part, default_parts, snippet
from directory_indexer.server.mcp.executor import TOOLS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "directory_indexer/integrations/assistants/plugin"
_BASES = {Base.HOME: "~", Base.CONFIG: "~/.config", Base.APPLICATION: "APPS"}


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def plugin_file(name: str) -> dict[str, Any]:
    content = json.loads((PLUGIN / name).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def test_the_page_for_agents_says_what_the_skill_and_the_hook_say() -> None:
    shown = dict(re.findall(r"<!-- (session|skill) -->\n\n(.*?)\n<!-- end -->", page("agents.md"), re.DOTALL))
    assert shown["session"].strip() == session_text()
    assert skill_text().endswith(f"\n\n{shown['skill']}")


def test_a_session_costs_no_more_than_sixty_tokens() -> None:
    assert "\n" not in session_text()
    assert len(session_text().encode()) <= 60 * 3


def test_the_skill_keeps_to_the_rules_for_skills() -> None:
    found = re.match(r"---\nname: ([a-z0-9]+(?:-[a-z0-9]+)*)\ndescription: ([^\n]{1,1024})\n---\n", skill_text())
    assert found
    assert found[1] == "dirindex"
    assert ": " not in found[2]  # plain in YAML


def test_the_skill_names_tools_that_there_are() -> None:
    named = set(re.findall(r"\| `(\w+)` \|", skill_text()))
    assert named
    assert named <= {tool.name for tool in TOOLS}


@pytest.mark.skipif(sys.platform == "win32", reason="sh")
def test_a_hook_prints_what_it_is_to_add() -> None:
    command = hook_command(added_context())
    printed = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True, text=True).stdout
    assert json.loads(printed) == added_context()
    assert command.count("'") == 2  # PowerShell reads it in the same way
    assert "\\" not in command


def test_the_marketplace_offers_the_plugin_of_this_version() -> None:
    marketplace = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text(encoding="utf-8"))
    (offered,) = marketplace["plugins"]
    manifest = plugin_file(".claude-plugin/plugin.json")
    assert ROOT / offered["source"] == PLUGIN
    assert offered["name"] == manifest["name"] == SERVER_NAME
    assert offered["version"] == manifest["version"] == directory_indexer.__version__
    assert offered["description"] == manifest["description"]
    assert plugin_file(".mcp.json")["mcpServers"][SERVER_NAME]["args"] == ["serve"]


def test_the_hook_of_the_plugin_is_the_one_that_is_installed() -> None:
    (mine,) = plugin_file("hooks/hooks.json")["hooks"]["SessionStart"]
    installed = CLIENTS["claude-code"].parts[Part.HOOKS].value(Launch("", ()))
    assert isinstance(installed, dict)
    assert mine["matcher"] == installed["matcher"]
    (hook,) = mine["hooks"]
    assert hook == {"type": "command", "command": 'cat "${CLAUDE_PLUGIN_ROOT}/hooks/session-start.txt"'}


@pytest.mark.parametrize("name", CLIENTS)
def test_the_page_of_assistants_has_a_row_for_each(name: str) -> None:
    client = CLIENTS[name]
    places = [client.parts[part].places[0] if part in client.parts else None for part in Part]
    files = [f"`{_BASES[place.base]}/{place.path}`" if place else "" for place in places]
    cells = [f"[{client.title}]({client.documentation})", f"`{name}`", *files]
    assert "| " + " | ".join(cells) + " |" in page("assistants.md").replace("| |", "|  |").replace("| |", "|  |")


@pytest.mark.parametrize("name", CLIENTS)
def test_every_assistant_that_has_a_place_for_it_is_taught_once(name: str) -> None:
    parts = default_parts(CLIENTS[name])
    assert parts[0] is Part.MCP
    assert (Part.RULES in parts) is (Part.RULES in CLIENTS[name].parts and len(parts) == 2 and Part.SKILL not in parts)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_page_of_assistants_shows_what_goes_where_by_hand(name: str) -> None:
    by_hand = page("assistants.md").split("## By hand", 1)[1].split("\n## ", 1)[0]
    forms = re.findall(r"(?ms)^([^\n`]+):\n\n```\w+\n(.*?)\n```", by_hand)
    shown = {text: titles for titles, text in forms}
    assert CLIENTS[name].title in shown[snippet(CLIENTS[name], Launch("dirindex", ("serve",)))].split(", ")
