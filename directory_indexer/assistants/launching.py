"""How an assistant starts the server, or calls it where it runs already."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SERVER_NAME: Final = "dirindex"
"""What assistants call the server."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client reaches the server: by a command, or by a URL where there is one."""

    command: str
    arguments: tuple[str, ...]
    url: str = ""
    has_token: bool = False


def launch_of(arguments: Sequence[str], *, url: str = "", has_token: bool = False) -> Launch:
    """Find the command that starts this very installation; one that uv made for a moment is made again."""
    if _is_for_a_moment(sys.prefix) and (uvx := shutil.which("uvx")):
        return Launch(os.path.abspath(uvx), (SERVER_NAME, *arguments), url, has_token)
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = os.path.join(os.path.dirname(sys.executable), SERVER_NAME + suffix)
    if os.path.exists(beside):
        return Launch(beside, tuple(arguments), url, has_token)
    return Launch(sys.executable, ("-m", "directory_indexer", *arguments), url, has_token)


def _is_for_a_moment(prefix: str) -> bool:
    parts = prefix.replace("\\", "/").split("/")
    return "archive-v0" in parts or "environments-v2" in parts
