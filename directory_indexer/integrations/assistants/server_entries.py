"""Configuration entries of the server, one function for each assistant's schema."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from directory_indexer.core.errors import UsageError
from directory_indexer.integrations.assistants.clients import SERVER_NAME, Launch

Entry: TypeAlias = dict[str, Any]

_TOKEN: Final = "Bearer TOKEN"  # noqa: S105 - a place-holder: a token is never printed
_GOOSE_SECONDS: Final = 300


def typed(launch: Launch) -> Entry:
    """Return an entry with `type` and `env`: Claude Code, Continue."""
    if launch.url:
        return {"type": "http", "url": launch.url, **_headers(launch)}
    return {"type": "stdio", **_command(launch), "env": {}}


def cursor(launch: Launch) -> Entry:
    """Return an entry for Cursor, which has a `type` for commands only."""
    return untyped(launch) if launch.url else typed(launch)


def untyped(launch: Launch) -> Entry:
    """Return an entry with only its command or `url`: Kiro, Amp, Junie, LM Studio."""
    return {"url": launch.url, **_headers(launch)} if launch.url else {**_command(launch), "env": {}}


def claude_desktop(launch: Launch) -> Entry:
    """Return an entry for Claude Desktop.

    Raises:
        UsageError: it is to be called over HTTP.
    """
    if launch.url:
        raise UsageError("Claude Desktop starts servers itself", hint="leave out --http")
    return untyped(launch)


def vscode(launch: Launch) -> Entry:
    """Return an entry for VS Code."""
    if launch.url:
        return {"type": "http", "url": launch.url, **_headers(launch)}
    return {"type": "stdio", **_command(launch)}


def windsurf(launch: Launch) -> Entry:
    """Return an entry for Windsurf."""
    return {"serverUrl": launch.url, **_headers(launch)} if launch.url else untyped(launch)


def gemini(launch: Launch) -> Entry:
    """Return an entry for Gemini CLI and Qwen Code."""
    return {"httpUrl": launch.url, **_headers(launch)} if launch.url else _command(launch)


def codex(launch: Launch) -> Entry:
    """Return an entry for Codex."""
    if not launch.url:
        return _command(launch)
    return {"url": launch.url, **({"http_headers": {"Authorization": _TOKEN}} if launch.has_token else {})}


def opencode(launch: Launch) -> Entry:
    """Return an entry for OpenCode."""
    if launch.url:
        return {"type": "remote", "url": launch.url, "enabled": True, **_headers(launch)}
    return {"type": "local", "command": [launch.command, *launch.arguments], "enabled": True}


def zed(launch: Launch) -> Entry:
    """Return an entry for Zed."""
    if launch.url:
        return {"url": launch.url, **_headers(launch)}
    return {"source": "custom", **_command(launch), "env": {}}


def goose(launch: Launch) -> Entry:
    """Return an entry for Goose."""
    entry: Entry = {"name": SERVER_NAME, "enabled": True, "timeout": _GOOSE_SECONDS}
    if launch.url:
        return {**entry, "type": "streamable_http", "uri": launch.url, **_headers(launch)}
    return {**entry, "type": "stdio", "cmd": launch.command, "args": list(launch.arguments), "envs": {}}


def cline(launch: Launch) -> Entry:
    """Return an entry for Cline."""
    if launch.url:
        return {"type": "streamableHttp", "url": launch.url, **_headers(launch)}
    return _command(launch)


def roo(launch: Launch) -> Entry:
    """Return an entry for Roo Code."""
    if launch.url:
        return {"type": "streamable-http", "url": launch.url, **_headers(launch)}
    return _command(launch)


def copilot(launch: Launch) -> Entry:
    """Return an entry for the GitHub Copilot CLI, which requires the list of allowed tools."""
    if launch.url:
        return {"type": "http", "url": launch.url, **_headers(launch), "tools": ["*"]}
    return {"type": "local", **_command(launch), "tools": ["*"]}


def _command(launch: Launch) -> Entry:
    return {"command": launch.command, "args": list(launch.arguments)}


def _headers(launch: Launch) -> Entry:
    return {"headers": {"Authorization": _TOKEN}} if launch.has_token else {}
