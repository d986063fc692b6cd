"""The piece of configuration that makes a client start dirindex, or call it over HTTP, with absolute paths."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from directory_indexer.errors import UsageError
from directory_indexer.server.gate.access import Access

_NAME = "dirindex"
_TOKEN = "Bearer TOKEN"  # noqa: S105 - a place-holder: a token is never printed
_GOOSE_SECONDS = 300


class Client(StrEnum):
    """The clients whose configuration is known."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    VSCODE = "vscode"
    CURSOR = "cursor"
    WINDSURF = "windsurf"
    GEMINI = "gemini"
    CODEX = "codex"
    GOOSE = "goose"


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client reaches the server: by a command, or by a URL where there is one."""

    command: str
    arguments: tuple[str, ...]
    url: str = ""
    has_token: bool = False


def client_named(name: str) -> Client:
    """Find a client by its name.

    Raises:
        UsageError: its configuration is not known.
    """
    try:
        return Client(name.lower().replace(" ", "-"))
    except ValueError as error:
        raise UsageError(f"unknown client '{name}'", hint=f"known are {', '.join(Client)}") from error


def launch_of(arguments: Sequence[str], *, url: str = "", has_token: bool = False) -> Launch:
    """Find the command that starts this very installation; one that uv made for a moment is made again."""
    if _is_for_a_moment(sys.prefix) and (uvx := shutil.which("uvx")):
        return Launch(os.path.abspath(uvx), (_NAME, *arguments), url, has_token)
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = os.path.join(os.path.dirname(sys.executable), _NAME + suffix)
    if os.path.exists(beside):
        return Launch(beside, tuple(arguments), url, has_token)
    return Launch(sys.executable, ("-m", "directory_indexer", *arguments), url, has_token)


def url_of(access: Access) -> str:
    """Give the address that clients call: of a server on every address, one of the names that it goes by.

    Raises:
        UsageError: the port is another one at each start, or others could read the index without a token.
    """
    if access.address.port == 0:
        raise UsageError("port 0 stands for another port at each start", hint="name the port: --http 127.0.0.1:8765")
    if access.token or not access.needs_token:
        access.require_safe(has_keys=False)
    is_everywhere = access.address.host in {"0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on
    host = access.names[0] if is_everywhere else access.address.host_in_url
    return f"http://{host}:{access.address.port}/mcp"


def snippet(client: Client, launch: Launch) -> str:
    """Write what goes into the configuration of a client.

    Raises:
        UsageError: the client starts servers by itself and calls none over HTTP.
    """
    return _SNIPPETS[client](launch).rstrip("\n")


def place(client: Client) -> str:
    """Tell where the snippet goes."""
    return _PLACES[client]


def _is_for_a_moment(prefix: str) -> bool:
    parts = prefix.replace("\\", "/").split("/")
    return "archive-v0" in parts or "environments-v2" in parts


def _standard(launch: Launch) -> str:
    if launch.url:
        return _json({"mcpServers": {_NAME: {"type": "http", "url": launch.url, **_headers(launch)}}})
    return _json({"mcpServers": {_NAME: {"type": "stdio", **_command(launch), "env": {}}}})


def _claude_desktop(launch: Launch) -> str:
    if launch.url:
        raise UsageError("Claude Desktop starts servers itself", hint="leave out --http")
    return _json({"mcpServers": {_NAME: {**_command(launch), "env": {}}}})


def _vscode(launch: Launch) -> str:
    if launch.url:
        return _json({"servers": {_NAME: {"type": "http", "url": launch.url, **_headers(launch)}}})
    return _json({"servers": {_NAME: {"type": "stdio", **_command(launch)}}})


def _windsurf(launch: Launch) -> str:
    entry = {"serverUrl": launch.url, **_headers(launch)} if launch.url else {**_command(launch), "env": {}}
    return _json({"mcpServers": {_NAME: entry}})


def _gemini(launch: Launch) -> str:
    entry = {"httpUrl": launch.url, **_headers(launch)} if launch.url else _command(launch)
    return _json({"mcpServers": {_NAME: entry}})


def _codex(launch: Launch) -> str:
    """Write TOML, whose basic strings are those of JSON, and so are its arrays of them."""
    lines = [f"[mcp_servers.{_NAME}]"]
    if launch.url:
        lines.append(f"url = {_scalar(launch.url)}")
        lines += [f'http_headers = {{ "Authorization" = {_scalar(_TOKEN)} }}'] if launch.has_token else []
    else:
        lines += [f"command = {_scalar(launch.command)}", f"args = {_scalar(list(launch.arguments))}"]
    return "\n".join(lines)


def _goose(launch: Launch) -> str:
    """Write YAML, of which JSON is a part."""
    entry: dict[str, object] = {"name": _NAME, "enabled": True, "timeout": _GOOSE_SECONDS}
    if launch.url:
        entry |= {"type": "streamable_http", "uri": launch.url, **_headers(launch)}
    else:
        entry |= {"type": "stdio", "cmd": launch.command, "args": list(launch.arguments), "envs": {}}
    lines = [f"    {key}: {_scalar(value)}" for key, value in entry.items()]
    return "\n".join(["extensions:", f"  {_NAME}:", *lines])


def _command(launch: Launch) -> dict[str, object]:
    return {"command": launch.command, "args": list(launch.arguments)}


def _headers(launch: Launch) -> dict[str, object]:
    return {"headers": {"Authorization": _TOKEN}} if launch.has_token else {}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_SNIPPETS: dict[Client, Callable[[Launch], str]] = {
    Client.CLAUDE_DESKTOP: _claude_desktop,
    Client.CLAUDE_CODE: _standard,
    Client.VSCODE: _vscode,
    Client.CURSOR: _standard,
    Client.WINDSURF: _windsurf,
    Client.GEMINI: _gemini,
    Client.CODEX: _codex,
    Client.GOOSE: _goose,
}
_PLACES = {
    Client.CLAUDE_DESKTOP: "claude_desktop_config.json (Settings > Developer > Edit Config)",
    Client.CLAUDE_CODE: ".mcp.json in a project, or ~/.claude.json",
    Client.VSCODE: ".vscode/mcp.json",
    Client.CURSOR: "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
    Client.WINDSURF: "~/.codeium/windsurf/mcp_config.json",
    Client.GEMINI: "~/.gemini/settings.json",
    Client.CODEX: "~/.codex/config.toml",
    Client.GOOSE: "~/.config/goose/config.yaml",
}
