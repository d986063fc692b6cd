"""Description of an assistant: the locations and formats of its servers, skills, hooks and rules.

Locations are below the home directory, or as the system or a variable determines. An assistant launches the server by a
command, or has the URL of a running one.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple

from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.integrations.assistants import Keys
from directory_indexer.integrations.assistants.formats import FORMATS, FormatName

with lazily:
    from importlib import metadata

_DIRECTORIES = ("XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
"""Variables that name directories of the user, which may be outside the home directory."""

SERVER_NAME: Final = "dirindex"
"""The name of the server in assistants."""


class Base(Enum):
    """The directory that the path of a place is relative to."""

    HOME = auto()
    CONFIG = auto()
    """The XDG configuration directory, on every system."""

    APPLICATION = auto()
    """The system's directory of application data: XDG, Application Support or AppData."""


class Place(NamedTuple):
    """The path of a file or directory of an assistant, with `/` as separator.

    `windows` is the path below AppData, if it differs; a set `variable` names the directory of `inner`.
    """

    base: Base
    path: str
    windows: str = ""
    variable: str = ""
    inner: str = ""


class System(NamedTuple):
    """The home directory, environment and platform, which determine paths."""

    home: str
    environ: Mapping[str, str]
    platform: str


def this_system(environ: Mapping[str, str] = os.environ) -> System:
    """Return the system of this process.

    Raises:
        UnavailableError: there is no home directory.
    """
    home = os.path.expanduser("~")
    if not os.path.isabs(home) or not os.path.isdir(home):
        raise UnavailableError("there is no home directory", hint="set HOME")
    return System(home, environ, sys.platform)


def resolve_place(place: Place, system: System) -> str:
    """Return the absolute path of a place."""
    directory = system.environ.get(place.variable, "") if place.variable else ""
    if os.path.isabs(directory):
        return _joined(directory, place.inner)
    if place.windows and system.platform == "win32":
        return _joined(_app_data(system), place.windows)
    return _joined(_directory_of(place.base, system), place.path)


def allowed_directories(system: System) -> tuple[str, ...]:
    """Return the directories that contain all files of assistants, after resolving links."""
    named = (system.environ.get(name, "") for name in _DIRECTORIES)
    return tuple(os.path.realpath(directory) for directory in (system.home, *named) if os.path.isabs(directory))


@dataclass(frozen=True, slots=True)
class Launch:
    """Access of a client to the server: by a command, or by a URL if it has one."""

    command: str
    arguments: tuple[str, ...]
    url: str = ""
    has_token: bool = False


def launch_of(arguments: Sequence[str], *, url: str = "", has_token: bool = False) -> Launch:
    """Return the command that starts this installation.

    Raises:
        UsageError: uv made the environment for a single run, from something other than a file.
    """
    if _is_ephemeral(sys.prefix) and (uvx := shutil.which("uvx")):
        return Launch(os.path.abspath(uvx), ("--from", _source(), SERVER_NAME, *arguments), url, has_token)
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = os.path.join(os.path.dirname(sys.executable), SERVER_NAME + suffix)
    if os.path.exists(beside):
        return Launch(beside, tuple(arguments), url, has_token)
    return Launch(sys.executable, ("-m", "directory_indexer", *arguments), url, has_token)


class Part(StrEnum):
    """Something that can be added to an assistant."""

    MCP = "mcp"
    SKILL = "skill"
    HOOKS = "hooks"
    RULES = "rules"


class Target(NamedTuple):
    """Location of a part: the first existing one of its places, else the first; a new file starts with `seed`."""

    places: tuple[Place, ...]
    format: FormatName
    keys: Keys
    value: Callable[[Launch], object]
    seed: str = ""


class Client(NamedTuple):
    """An assistant; it is installed if one of `marks` exists. `where` names the file of servers for people."""

    name: str
    title: str
    marks: tuple[Place, ...]
    parts: Mapping[Part, Target]
    where: str
    documentation: str


def snippet(client: Client, launch: Launch) -> str:
    """Format the entry for the configuration of a client.

    Raises:
        UsageError: the client starts servers by itself and calls none over HTTP.
    """
    target = client.parts[Part.MCP]
    return FORMATS[target.format].with_entry("", target.keys, target.value(launch)).rstrip("\n")


def default_parts(client: Client) -> tuple[Part, ...]:
    """Return the parts that a client gets by default: rules only if it has neither skill nor hook."""
    instructions = [part for part in (Part.SKILL, Part.HOOKS) if part in client.parts]
    return (Part.MCP, *(instructions or [part for part in (Part.RULES,) if part in client.parts]))


def _directory_of(base: Base, system: System) -> str:
    if base is Base.HOME:
        return system.home
    if base is Base.APPLICATION and system.platform == "darwin":
        return _joined(system.home, "Library/Application Support")
    if base is Base.APPLICATION and system.platform == "win32":
        return _app_data(system)
    config = system.environ.get("XDG_CONFIG_HOME", "")
    return config if os.path.isabs(config) else _joined(system.home, ".config")


def _app_data(system: System) -> str:
    named = system.environ.get("APPDATA", "")
    return named if os.path.isabs(named) else _joined(system.home, "AppData/Roaming")


def _joined(directory: str, path: str) -> str:
    return os.path.join(directory, *path.split("/"))


def _is_ephemeral(prefix: str) -> bool:
    parts = prefix.replace("\\", "/").split("/")
    return "archive-v0" in parts or "environments-v2" in parts


def _source() -> str:
    # By name alone, uvx would run whatever the package index has under that name.
    direct_url = json.loads(metadata.distribution("directory-indexer").read_text("direct_url.json") or "{}")
    source = str(direct_url.get("url", ""))
    if not source.startswith("file:"):
        message = "uv made this environment for a single run, so an assistant could not start it later"
        raise UsageError(message, hint="install dirindex first: uv tool install . in a checkout")
    return f"directory-indexer @ {source}"
