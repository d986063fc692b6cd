"""Launch of the server by an assistant: a command, or the URL of a running server."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily

with lazily:
    from importlib import metadata

SERVER_NAME: Final = "dirindex"
"""The name of the server in assistants."""


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


def _is_ephemeral(prefix: str) -> bool:
    parts = prefix.replace("\\", "/").split("/")
    return "archive-v0" in parts or "environments-v2" in parts


def _source() -> str:
    # By name alone, uvx would run whatever the package index has under that name.
    direct_url = json.loads(metadata.distribution("directory-indexer").read_text("direct_url.json") or "{}")
    source = str(direct_url.get("url", ""))
    if not source.startswith("file:"):
        message = "uv made the environment of this dirindex for one run, and an assistant could not start it later"
        raise UsageError(message, hint="install dirindex first: uv tool install . in a checkout")
    return f"directory-indexer @ {source}"
