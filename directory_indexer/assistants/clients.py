"""Description of an assistant: the locations and formats of its servers, skills, hooks and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from directory_indexer.assistants.entries import Keys
from directory_indexer.assistants.formats import FORMATS, FormatName
from directory_indexer.assistants.launching import Launch
from directory_indexer.assistants.places import Place


class Part(StrEnum):
    """Something that can be added to an assistant."""

    MCP = "mcp"
    SKILL = "skill"
    HOOKS = "hooks"
    RULES = "rules"


class Target(NamedTuple):
    """Location of a part: the first of its places that exists, else the first one; a new file starts with `seed`."""

    places: tuple[Place, ...]
    format: FormatName
    keys: Keys
    value: Callable[[Launch], object]
    seed: str = ""


class Client(NamedTuple):
    """An assistant; it is installed if one of `marks` exists. `where` is the location of servers for people."""

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
