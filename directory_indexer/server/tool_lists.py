"""Tools as clients see them listed, and the answers that all of them may give, whatever is served."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, Protocol

from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from directory_indexer.config.collections import DEFAULT
from directory_indexer.server.arguments import IN_COLLECTION, LAST_LINE
from directory_indexer.server.schemas import schema_of
from directory_indexer.wire.objects import JsonObject


class ListedTool(Protocol):
    """What is told of a tool."""

    @property
    def name(self) -> str:
        """What it is called by."""

    @property
    def title(self) -> str:
        """What people see."""

    @property
    def description(self) -> str:
        """What models are told of it."""

    @property
    def arguments(self) -> type:
        """The record of what it takes."""

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing."""


def listed_tools(tools: Iterable[ListedTool], *, untold: Collection[str] = ()) -> list[Tool]:
    """Describe the tools to clients; not what they answer, which would take three times as many tokens.

    Arguments that are `untold` are left out of the list.

    Assistants pay for each word: what an argument means is not said again where the tool above has the same one.
    """
    told = {"collection": IN_COLLECTION}
    listed = []
    for entry in tools:
        schema = schema_of(entry.arguments)
        properties = {
            name: _briefly(name, one, told) for name, one in schema["properties"].items() if name not in untold
        }
        listed.append(_tool(entry, {**schema, "properties": properties}))
    return listed


def _briefly(name: str, argument: JsonObject, told: dict[str, str]) -> JsonObject:
    """Describe an argument without its limits but the largest number, and without what was told before or is usual."""
    said = {key: value for key, value in argument.items() if key not in _UNTOLD and not _is_usual(key, value)}
    if told.get(name) == argument["description"]:
        del said["description"]
        said.pop("maximum", None)
    told[name] = argument["description"]
    return said


def _is_usual(key: str, value: object) -> bool:
    return key == "default" and (not value or value in _UNTOLD_VALUES)


_UNTOLD: Final = frozenset({"minLength", "maxLength", "maxItems", "minimum"})
_UNTOLD_VALUES: Final = (DEFAULT, LAST_LINE)


def _tool(entry: ListedTool, arguments: JsonObject) -> Tool:
    return Tool(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        input_schema=arguments,
        annotations=_hints(entry),
    )


def _hints(entry: ListedTool) -> ToolAnnotations:
    """Tell what a tool does to the world; of one that only reads, nothing else has a meaning."""
    if entry.is_read_only:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def arguments_schema(entry: ListedTool) -> JsonObject:
    """Give the schema of what a tool takes, by which the SDK checks a call."""
    return {**schema_of(entry.arguments), "additionalProperties": False}


def failed(text: str) -> CallToolResult:
    """Answer a call with what went wrong, which is all that a model sees of it."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
