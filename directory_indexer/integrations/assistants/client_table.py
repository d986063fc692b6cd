"""Supported assistants, one row each, and the instructions for them about searching.

`dirindex install`, `dirindex serve --print-config` and docs/assistants.md all follow this table.

Instructions are read from the files of the plugin.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Final

from directory_indexer.core.errors import UsageError
from directory_indexer.integrations.assistants import IN_LIST, server_entries
from directory_indexer.integrations.assistants.clients import SERVER_NAME, Base, Client, Launch, Part, Place, Target
from directory_indexer.integrations.assistants.formats import FormatName


def at_home(path: str) -> Place:
    """Return a path below the home directory."""
    return Place(Base.HOME, path)


def in_config(path: str, windows: str = "") -> Place:
    """Return a path below the user's configuration directory; `windows` is the one below AppData."""
    return Place(Base.CONFIG, path, windows)


def in_application(path: str) -> Place:
    """Return a path below the system's directory of application data."""
    return Place(Base.APPLICATION, path)


def in_claude(path: str) -> Place:
    """Return a path in the directory of Claude Code."""
    return Place(Base.HOME, f".claude/{path}", variable="CLAUDE_CONFIG_DIR", inner=path)


def in_codex(path: str) -> Place:
    """Return a path in the directory of Codex."""
    return Place(Base.HOME, f".codex/{path}", variable="CODEX_HOME", inner=path)


def in_copilot(path: str) -> Place:
    """Return a path in the directory of the GitHub Copilot CLI."""
    return Place(Base.HOME, f".copilot/{path}", variable="COPILOT_HOME", inner=path)


def servers(key: str, entry: Callable[[Launch], object], *places: Place) -> Target:
    """Return a target for the server below a key, in JSON."""
    return Target(places, FormatName.JSON, (key, SERVER_NAME), entry)


def skill(place: Place) -> Target:
    """Return a target for the skill, a separate file."""
    return Target((place,), FormatName.WHOLE, (), lambda _: skill_text())


def rule_block(*places: Place) -> Target:
    """Return a target for the rules in a block among other rules."""
    return Target(places, FormatName.MARKED, (), lambda _: session_text())


def rule_file(place: Place, front_matter: str = "") -> Target:
    """Return a target for the rules in a separate file, below the front matter that the assistant requires."""
    return Target((place,), FormatName.WHOLE, (), lambda _: rule_text(front_matter))


def group_hook(place: Place, **matcher: str) -> Target:
    """Return a target for the hook at the start of a session, in the schema of Claude Code."""

    def entry(_: Launch) -> object:
        return {**matcher, "hooks": [{"type": "command", "command": hook_command(added_context())}]}

    return Target((place,), FormatName.JSON, ("hooks", "SessionStart", IN_LIST), entry)


def cursor_hook(_: Launch) -> object:
    """Return the hook in the schema of Cursor."""
    return {"command": hook_command({"additional_context": session_text()})}


_SHARED_SKILL: Final = skill(at_home(".agents/skills/dirindex/SKILL.md"))
"""A file that many assistants read; it is removed with the last of them."""

_CLIENTS: Final = (
    Client(
        "claude-code",
        "Claude Code",
        (in_claude(""), at_home(".claude.json")),
        {
            Part.MCP: servers(
                "mcpServers",
                server_entries.typed,
                Place(Base.HOME, ".claude.json", variable="CLAUDE_CONFIG_DIR", inner=".claude.json"),
            ),
            Part.SKILL: skill(in_claude("skills/dirindex/SKILL.md")),
            Part.HOOKS: group_hook(in_claude("settings.json"), matcher="startup|clear|compact"),
            Part.RULES: rule_block(in_claude("CLAUDE.md")),
        },
        "~/.claude.json, or .mcp.json in a project",
        "https://code.claude.com/docs/en/mcp",
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        (in_application("Claude"),),
        {
            Part.MCP: servers(
                "mcpServers", server_entries.claude_desktop, in_application("Claude/claude_desktop_config.json")
            )
        },
        "claude_desktop_config.json (Settings > Developer > Edit Config)",
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    ),
    Client(
        "codex",
        "Codex",
        (in_codex(""),),
        {
            Part.MCP: Target(
                (in_codex("config.toml"),), FormatName.TOML, ("mcp_servers", SERVER_NAME), server_entries.codex
            ),
            Part.SKILL: _SHARED_SKILL,
            Part.HOOKS: group_hook(in_codex("hooks.json"), matcher="startup|clear"),
            Part.RULES: rule_block(in_codex("AGENTS.md")),
        },
        "~/.codex/config.toml",
        "https://learn.chatgpt.com/docs/extend/mcp",
    ),
    Client(
        "cursor",
        "Cursor",
        (at_home(".cursor"),),
        {
            Part.MCP: servers("mcpServers", server_entries.cursor, at_home(".cursor/mcp.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.HOOKS: Target(
                (at_home(".cursor/hooks.json"),),
                FormatName.JSON,
                ("hooks", "sessionStart", IN_LIST),
                cursor_hook,
                seed='{\n  "version": 1\n}\n',
            ),
        },
        "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
        "https://cursor.com/docs/mcp",
    ),
    Client(
        "vscode",
        "VS Code",
        (in_application("Code/User"),),
        {
            Part.MCP: servers("servers", server_entries.vscode, in_application("Code/User/mcp.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: rule_file(in_application("Code/User/prompts/dirindex.instructions.md"), "applyTo: '**'"),
        },
        "mcp.json of the user (MCP: Open User Configuration), or .vscode/mcp.json",
        "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        (at_home(".gemini"),),
        {
            Part.MCP: servers("mcpServers", server_entries.gemini, at_home(".gemini/settings.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.HOOKS: group_hook(at_home(".gemini/settings.json")),
            Part.RULES: rule_block(at_home(".gemini/GEMINI.md")),
        },
        "~/.gemini/settings.json",
        "https://geminicli.com/docs/tools/mcp-server/",
    ),
    Client(
        "opencode",
        "OpenCode",
        (in_config("opencode"),),
        {
            Part.MCP: servers(
                "mcp",
                server_entries.opencode,
                in_config("opencode/opencode.json"),
                in_config("opencode/opencode.jsonc"),
            ),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: rule_block(in_config("opencode/AGENTS.md")),
        },
        "~/.config/opencode/opencode.json, or opencode.json in a project",
        "https://opencode.ai/docs/mcp-servers/",
    ),
    Client(
        "windsurf",
        "Windsurf",
        (at_home(".codeium/windsurf"),),
        {
            Part.MCP: servers("mcpServers", server_entries.windsurf, at_home(".codeium/windsurf/mcp_config.json")),
            Part.SKILL: skill(at_home(".codeium/windsurf/skills/dirindex/SKILL.md")),
            Part.RULES: rule_block(at_home(".codeium/windsurf/memories/global_rules.md")),
        },
        "~/.codeium/windsurf/mcp_config.json",
        "https://docs.windsurf.com/windsurf/cascade/mcp",
    ),
    Client(
        "zed",
        "Zed",
        (in_config("zed", "Zed"),),
        {Part.MCP: servers("context_servers", server_entries.zed, in_config("zed/settings.json", "Zed/settings.json"))},
        "settings.json of Zed (zed: open settings)",
        "https://zed.dev/docs/ai/mcp",
    ),
    Client(
        "goose",
        "Goose",
        (in_config("goose", "Block/goose"),),
        {
            Part.MCP: Target(
                (in_config("goose/config.yaml", "Block/goose/config/config.yaml"),),
                FormatName.YAML,
                ("extensions", SERVER_NAME),
                server_entries.goose,
            ),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: rule_block(in_config("goose/.goosehints", "Block/goose/config/.goosehints")),
        },
        "~/.config/goose/config.yaml, on Windows %APPDATA%\\Block\\goose\\config\\config.yaml",
        "https://block.github.io/goose/docs/guides/config-files",
    ),
    Client(
        "cline",
        "Cline",
        (at_home(".cline"),),
        {
            Part.MCP: servers(
                "mcpServers", server_entries.cline, at_home(".cline/data/settings/cline_mcp_settings.json")
            ),
            Part.SKILL: skill(at_home(".cline/skills/dirindex/SKILL.md")),
            Part.RULES: rule_file(at_home("Documents/Cline/Rules/dirindex.md")),
        },
        "cline_mcp_settings.json (MCP Servers > Configure)",
        "https://docs.cline.bot/mcp/mcp-overview",
    ),
    Client(
        "roo",
        "Roo Code",
        (in_application("Code/User/globalStorage/rooveterinaryinc.roo-cline"), at_home(".roo")),
        {
            Part.MCP: servers(
                "mcpServers",
                server_entries.roo,
                in_application("Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
            ),
            Part.RULES: rule_file(at_home(".roo/rules/dirindex.md")),
        },
        "mcp_settings.json (MCP Servers > Edit Global MCP), or .roo/mcp.json in a project",
        "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
    ),
    Client(
        "continue",
        "Continue",
        (at_home(".continue"),),
        {
            Part.MCP: servers("mcpServers", server_entries.typed, at_home(".continue/mcpServers/dirindex.json")),
            Part.RULES: rule_file(at_home(".continue/rules/dirindex.md"), "name: dirindex\nalwaysApply: true"),
        },
        "~/.continue/mcpServers/dirindex.json, or .continue/mcpServers in a project",
        "https://docs.continue.dev/customize/deep-dives/mcp",
    ),
    Client(
        "kiro",
        "Kiro",
        (at_home(".kiro"),),
        {
            Part.MCP: servers("mcpServers", server_entries.untyped, at_home(".kiro/settings/mcp.json")),
            Part.RULES: rule_file(at_home(".kiro/steering/dirindex.md"), "inclusion: always"),
        },
        "~/.kiro/settings/mcp.json, or .kiro/settings/mcp.json in a project",
        "https://kiro.dev/docs/mcp/configuration",
    ),
    Client(
        "amp",
        "Amp",
        (in_config("amp"),),
        {
            Part.MCP: servers(
                "amp.mcpServers",
                server_entries.untyped,
                in_config("amp/settings.json"),
                in_config("amp/settings.jsonc"),
            ),
            Part.SKILL: skill(in_config("agents/skills/dirindex/SKILL.md")),
            Part.RULES: rule_block(in_config("amp/AGENTS.md")),
        },
        "~/.config/amp/settings.json",
        "https://ampcode.com/manual",
    ),
    Client(
        "copilot-cli",
        "GitHub Copilot CLI",
        (in_copilot(""),),
        {
            Part.MCP: servers("mcpServers", server_entries.copilot, in_copilot("mcp-config.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: rule_block(in_copilot("copilot-instructions.md")),
        },
        "~/.copilot/mcp-config.json",
        "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
    ),
    Client(
        "junie",
        "Junie",
        (at_home(".junie"),),
        {Part.MCP: servers("mcpServers", server_entries.untyped, at_home(".junie/mcp/mcp.json"))},
        "~/.junie/mcp/mcp.json, or .junie/mcp/mcp.json in a project",
        "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
    ),
    Client(
        "qwen",
        "Qwen Code",
        (at_home(".qwen"),),
        {
            Part.MCP: servers("mcpServers", server_entries.gemini, at_home(".qwen/settings.json")),
            Part.SKILL: skill(at_home(".qwen/skills/dirindex/SKILL.md")),
            Part.RULES: rule_block(at_home(".qwen/QWEN.md")),
        },
        "~/.qwen/settings.json",
        "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/mcp.md",
    ),
    Client(
        "lmstudio",
        "LM Studio",
        (at_home(".lmstudio"),),
        {Part.MCP: servers("mcpServers", server_entries.untyped, at_home(".lmstudio/mcp.json"))},
        "~/.lmstudio/mcp.json",
        "https://lmstudio.ai/docs/app/mcp",
    ),
)

CLIENTS: Final[Mapping[str, Client]] = {client.name: client for client in _CLIENTS}
"""All clients by name."""


def client_named(name: str) -> Client:
    """Return the client with a name.

    Raises:
        UsageError: its configuration is not known.
    """
    try:
        return CLIENTS[name.lower().replace(" ", "-")]
    except KeyError as error:
        raise UsageError(f"unknown assistant '{name}'", hint=f"known: {', '.join(CLIENTS)}") from error


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


def hook_command(answer: Mapping[str, object]) -> str:
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
