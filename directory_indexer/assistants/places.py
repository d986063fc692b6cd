"""Locations of assistants' files: below the home directory, or as the system or a variable determines."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from directory_indexer.errors import UnavailableError

_DIRECTORIES = ("XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
"""Variables that name directories of the user, which may be outside the home directory."""


class Base(Enum):
    """The directory that the path of a place is relative to."""

    HOME = auto()
    CONFIG = auto()
    """The XDG configuration directory, on every system."""

    APPLICATION = auto()
    """The system's directory of application data: XDG, Application Support or AppData."""


class Place(NamedTuple):
    """A file or directory of an assistant, with `/` as separator.

    `windows` is the path below AppData, if it differs; a set `variable` names the directory of `inner`.
    """

    base: Base
    path: str
    windows: str = ""
    variable: str = ""
    inner: str = ""


class System(NamedTuple):
    """The home directory, environment and platform that determine places."""

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


def located(place: Place, system: System) -> str:
    """Return the absolute path of a place."""
    directory = system.environ.get(place.variable, "") if place.variable else ""
    if os.path.isabs(directory):
        return _joined(directory, place.inner)
    if place.windows and system.platform == "win32":
        return _joined(_app_data(system), place.windows)
    return _joined(_directory_of(place.base, system), place.path)


def allowed_directories(system: System) -> tuple[str, ...]:
    """Return the directories that the resolved paths of assistants' files have to be below."""
    named = (system.environ.get(name, "") for name in _DIRECTORIES)
    return tuple(os.path.realpath(directory) for directory in (system.home, *named) if os.path.isabs(directory))


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
