"""The assistants that dirindex knows: a row each.

`dirindex install`, `dirindex serve --print-config` and docs/assistants.md all follow this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from directory_indexer.assistants import server_entries, teaching
from directory_indexer.assistants.clients import Client, Part, Target
from directory_indexer.assistants.entries import IN_LIST
from directory_indexer.assistants.formats import FormatName
from directory_indexer.assistants.launching import SERVER_NAME, Launch
from directory_indexer.assistants.places import Base, Place
from directory_indexer.errors import UsageError


def _home(path: str) -> Place:
    return Place(Base.HOME, path)


def _config(path: str, windows: str = "") -> Place:
    return Place(Base.CONFIG, path, windows)


def _application(path: str) -> Place:
    return Place(Base.APPLICATION, path)


def _claude(path: str) -> Place:
    return Place(Base.HOME, f".claude/{path}", variable="CLAUDE_CONFIG_DIR", inner=path)


def _codex(path: str) -> Place:
    return Place(Base.HOME, f".codex/{path}", variable="CODEX_HOME", inner=path)


def _copilot(path: str) -> Place:
    return Place(Base.HOME, f".copilot/{path}", variable="COPILOT_HOME", inner=path)


def _servers(key: str, entry: Callable[[Launch], object], *places: Place) -> Target:
    return Target(places, FormatName.JSON, (key, SERVER_NAME), entry)


def _skill(place: Place) -> Target:
    return Target((place,), FormatName.WHOLE, (), lambda _: teaching.skill_text())


def _block(*places: Place) -> Target:
    return Target(places, FormatName.MARKED, (), lambda _: teaching.session_text())


def _rule_file(place: Place, front_matter: str = "") -> Target:
    return Target((place,), FormatName.WHOLE, (), lambda _: teaching.rule_file(front_matter))


def _group_hook(place: Place, **matcher: str) -> Target:
    def entry(_: Launch) -> object:
        return {**matcher, "hooks": [{"type": "command", "command": teaching.announcement(teaching.added_context())}]}

    return Target((place,), FormatName.JSON, ("hooks", "SessionStart", IN_LIST), entry)


def _cursor_hook(_: Launch) -> object:
    return {"command": teaching.announcement({"additional_context": teaching.session_text()})}


_SHARED_SKILL: Final = _skill(_home(".agents/skills/dirindex/SKILL.md"))
"""Where many assistants look; they share the file, and it goes with the last of them."""

_CLIENTS: Final = (
    Client(
        "claude-code",
        "Claude Code",
        (_claude(""), _home(".claude.json")),
        {
            Part.MCP: _servers(
                "mcpServers",
                server_entries.typed,
                Place(Base.HOME, ".claude.json", variable="CLAUDE_CONFIG_DIR", inner=".claude.json"),
            ),
            Part.SKILL: _skill(_claude("skills/dirindex/SKILL.md")),
            Part.HOOKS: _group_hook(_claude("settings.json"), matcher="startup|clear|compact"),
            Part.RULES: _block(_claude("CLAUDE.md")),
        },
        "~/.claude.json, or .mcp.json in a project",
        "https://code.claude.com/docs/en/mcp",
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        (_application("Claude"),),
        {
            Part.MCP: _servers(
                "mcpServers", server_entries.claude_desktop, _application("Claude/claude_desktop_config.json")
            )
        },
        "claude_desktop_config.json (Settings > Developer > Edit Config)",
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    ),
    Client(
        "codex",
        "Codex",
        (_codex(""),),
        {
            Part.MCP: Target(
                (_codex("config.toml"),), FormatName.TOML, ("mcp_servers", SERVER_NAME), server_entries.codex
            ),
            Part.SKILL: _SHARED_SKILL,
            Part.HOOKS: _group_hook(_codex("hooks.json"), matcher="startup|clear"),
            Part.RULES: _block(_codex("AGENTS.md")),
        },
        "~/.codex/config.toml",
        "https://learn.chatgpt.com/docs/extend/mcp",
    ),
    Client(
        "cursor",
        "Cursor",
        (_home(".cursor"),),
        {
            Part.MCP: _servers("mcpServers", server_entries.typed, _home(".cursor/mcp.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.HOOKS: Target(
                (_home(".cursor/hooks.json"),),
                FormatName.JSON,
                ("hooks", "sessionStart", IN_LIST),
                _cursor_hook,
                seed='{\n  "version": 1\n}\n',
            ),
        },
        "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
        "https://cursor.com/docs/context/mcp",
    ),
    Client(
        "vscode",
        "VS Code",
        (_application("Code/User"),),
        {
            Part.MCP: _servers("servers", server_entries.vscode, _application("Code/User/mcp.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: _rule_file(_application("Code/User/prompts/dirindex.instructions.md"), "applyTo: '**'"),
        },
        "mcp.json of the user (MCP: Open User Configuration), or .vscode/mcp.json",
        "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        (_home(".gemini"),),
        {
            Part.MCP: _servers("mcpServers", server_entries.gemini, _home(".gemini/settings.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.HOOKS: _group_hook(_home(".gemini/settings.json")),
            Part.RULES: _block(_home(".gemini/GEMINI.md")),
        },
        "~/.gemini/settings.json",
        "https://geminicli.com/docs/tools/mcp-server/",
    ),
    Client(
        "opencode",
        "OpenCode",
        (_config("opencode"),),
        {
            Part.MCP: _servers(
                "mcp", server_entries.opencode, _config("opencode/opencode.json"), _config("opencode/opencode.jsonc")
            ),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: _block(_config("opencode/AGENTS.md")),
        },
        "~/.config/opencode/opencode.json, or opencode.json in a project",
        "https://opencode.ai/docs/mcp-servers/",
    ),
    Client(
        "windsurf",
        "Windsurf",
        (_home(".codeium/windsurf"),),
        {
            Part.MCP: _servers("mcpServers", server_entries.windsurf, _home(".codeium/windsurf/mcp_config.json")),
            Part.SKILL: _skill(_home(".codeium/windsurf/skills/dirindex/SKILL.md")),
            Part.RULES: _block(_home(".codeium/windsurf/memories/global_rules.md")),
        },
        "~/.codeium/windsurf/mcp_config.json",
        "https://docs.windsurf.com/windsurf/cascade/mcp",
    ),
    Client(
        "zed",
        "Zed",
        (_config("zed", "Zed"),),
        {Part.MCP: _servers("context_servers", server_entries.zed, _config("zed/settings.json", "Zed/settings.json"))},
        "settings.json of Zed (zed: open settings)",
        "https://zed.dev/docs/ai/mcp",
    ),
    Client(
        "goose",
        "Goose",
        (_config("goose", "Block/goose"),),
        {
            Part.MCP: Target(
                (_config("goose/config.yaml", "Block/goose/config/config.yaml"),),
                FormatName.YAML,
                ("extensions", SERVER_NAME),
                server_entries.goose,
            ),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: _block(_config("goose/.goosehints", "Block/goose/config/.goosehints")),
        },
        "~/.config/goose/config.yaml, on Windows %APPDATA%\\Block\\goose\\config\\config.yaml",
        "https://block.github.io/goose/docs/guides/config-files",
    ),
    Client(
        "cline",
        "Cline",
        (_home(".cline"),),
        {
            Part.MCP: _servers(
                "mcpServers", server_entries.cline, _home(".cline/data/settings/cline_mcp_settings.json")
            ),
            Part.SKILL: _skill(_home(".cline/skills/dirindex/SKILL.md")),
            Part.RULES: _rule_file(_home("Documents/Cline/Rules/dirindex.md")),
        },
        "cline_mcp_settings.json (MCP Servers > Configure)",
        "https://docs.cline.bot/mcp/mcp-overview",
    ),
    Client(
        "roo",
        "Roo Code",
        (_application("Code/User/globalStorage/rooveterinaryinc.roo-cline"), _home(".roo")),
        {
            Part.MCP: _servers(
                "mcpServers",
                server_entries.roo,
                _application("Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
            ),
            Part.RULES: _rule_file(_home(".roo/rules/dirindex.md")),
        },
        "mcp_settings.json (MCP Servers > Edit Global MCP), or .roo/mcp.json in a project",
        "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
    ),
    Client(
        "continue",
        "Continue",
        (_home(".continue"),),
        {
            Part.MCP: _servers("mcpServers", server_entries.typed, _home(".continue/mcpServers/dirindex.json")),
            Part.RULES: _rule_file(_home(".continue/rules/dirindex.md"), "name: dirindex\nalwaysApply: true"),
        },
        "~/.continue/mcpServers/dirindex.json, or .continue/mcpServers in a project",
        "https://docs.continue.dev/customize/deep-dives/mcp",
    ),
    Client(
        "kiro",
        "Kiro",
        (_home(".kiro"),),
        {
            Part.MCP: _servers("mcpServers", server_entries.untyped, _home(".kiro/settings/mcp.json")),
            Part.RULES: _rule_file(_home(".kiro/steering/dirindex.md"), "inclusion: always"),
        },
        "~/.kiro/settings/mcp.json, or .kiro/settings/mcp.json in a project",
        "https://kiro.dev/docs/mcp/configuration",
    ),
    Client(
        "amp",
        "Amp",
        (_config("amp"),),
        {
            Part.MCP: _servers(
                "amp.mcpServers",
                server_entries.untyped,
                _config("amp/settings.json"),
                _config("amp/settings.jsonc"),
            ),
            Part.SKILL: _skill(_config("agents/skills/dirindex/SKILL.md")),
            Part.RULES: _block(_config("amp/AGENTS.md")),
        },
        "~/.config/amp/settings.json",
        "https://ampcode.com/manual",
    ),
    Client(
        "copilot-cli",
        "GitHub Copilot CLI",
        (_copilot(""),),
        {
            Part.MCP: _servers("mcpServers", server_entries.copilot, _copilot("mcp-config.json")),
            Part.SKILL: _SHARED_SKILL,
            Part.RULES: _block(_copilot("copilot-instructions.md")),
        },
        "~/.copilot/mcp-config.json",
        "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
    ),
    Client(
        "junie",
        "Junie",
        (_home(".junie"),),
        {Part.MCP: _servers("mcpServers", server_entries.untyped, _home(".junie/mcp/mcp.json"))},
        "~/.junie/mcp/mcp.json, or .junie/mcp/mcp.json in a project",
        "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
    ),
    Client(
        "qwen",
        "Qwen Code",
        (_home(".qwen"),),
        {
            Part.MCP: _servers("mcpServers", server_entries.gemini, _home(".qwen/settings.json")),
            Part.SKILL: _skill(_home(".qwen/skills/dirindex/SKILL.md")),
            Part.RULES: _block(_home(".qwen/QWEN.md")),
        },
        "~/.qwen/settings.json",
        "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/mcp.md",
    ),
    Client(
        "lmstudio",
        "LM Studio",
        (_home(".lmstudio"),),
        {Part.MCP: _servers("mcpServers", server_entries.untyped, _home(".lmstudio/mcp.json"))},
        "~/.lmstudio/mcp.json",
        "https://lmstudio.ai/docs/app/mcp",
    ),
)

CLIENTS: Final[Mapping[str, Client]] = {client.name: client for client in _CLIENTS}
"""All clients, by their names."""


def client_named(name: str) -> Client:
    """Find a client by its name.

    Raises:
        UsageError: its configuration is not known.
    """
    try:
        return CLIENTS[name.lower().replace(" ", "-")]
    except KeyError as error:
        raise UsageError(f"unknown client '{name}'", hint=f"known are {', '.join(CLIENTS)}") from error
