"""What is known of an assistant: where it keeps its servers, skills, hooks and rules, and in which form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from directory_indexer.assistants.entries import Keys
from directory_indexer.assistants.formats import FORMATS, FormatName
from directory_indexer.assistants.launching import Launch
from directory_indexer.assistants.places import Place


class Part(StrEnum):
    """What can be put into an assistant."""

    MCP = "mcp"
    SKILL = "skill"
    HOOKS = "hooks"
    RULES = "rules"


class Target(NamedTuple):
    """Where a part goes: the first of its places that is there, else the first one; a new file begins as `seed`."""

    places: tuple[Place, ...]
    format: FormatName
    keys: Keys
    value: Callable[[Launch], object]
    seed: str = ""


class Client(NamedTuple):
    """An assistant: it is there if one of `marks` is. `where` tells people where a server goes."""

    name: str
    title: str
    marks: tuple[Place, ...]
    parts: Mapping[Part, Target]
    where: str
    documentation: str


def snippet(client: Client, launch: Launch) -> str:
    """Write what goes into the configuration of a client.

    Raises:
        UsageError: the client starts servers by itself and calls none over HTTP.
    """
    target = client.parts[Part.MCP]
    return FORMATS[target.format].with_entry("", target.keys, target.value(launch)).rstrip("\n")


def default_parts(client: Client) -> tuple[Part, ...]:
    """Name the parts that a client gets when nobody says which: rules only where nothing else teaches it."""
    taught = [part for part in (Part.SKILL, Part.HOOKS) if part in client.parts]
    return (Part.MCP, *(taught or [part for part in (Part.RULES,) if part in client.parts]))
