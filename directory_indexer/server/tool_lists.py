"""Tool listings for clients, and error results."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, Protocol

from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from directory_indexer.config.collections import DEFAULT
from directory_indexer.server.arguments import IN_COLLECTION, LAST_LINE
from directory_indexer.server.schemas import schema_of
from directory_indexer.wire.objects import JsonObject


class ListedTool(Protocol):
    """A tool as it is listed."""

    @property
    def name(self) -> str:
        """The name in calls."""

    @property
    def title(self) -> str:
        """The name for people."""

    @property
    def description(self) -> str:
        """The description for models."""

    @property
    def arguments(self) -> type:
        """The record of the arguments."""

    @property
    def is_read_only(self) -> bool:
        """Whether the tool changes nothing."""


def listed_tools(tools: Iterable[ListedTool], *, hidden_arguments: Collection[str] = ()) -> list[Tool]:
    """Return the descriptions of tools, without result schemas, which would take three times as many tokens.

    `hidden_arguments` are omitted.

    Assistants pay for each word: an argument is not described again if an earlier tool has the same one.
    """
    descriptions = {"collection": IN_COLLECTION}
    listings = []
    for entry in tools:
        schema = schema_of(entry.arguments)
        properties = {
            name: _brief_schema(name, argument, descriptions)
            for name, argument in schema["properties"].items()
            if name not in hidden_arguments
        }
        listings.append(_tool(entry, {**schema, "properties": properties}))
    return listings


def _brief_schema(name: str, argument: JsonObject, descriptions: dict[str, str]) -> JsonObject:
    """Return the schema of an argument, without limits except the first maximum, repeated descriptions and defaults."""
    schema = {
        key: value for key, value in argument.items() if key not in _OMITTED_KEYS and not _is_usual_default(key, value)
    }
    if descriptions.get(name) == argument["description"]:
        del schema["description"]
        schema.pop("maximum", None)
    descriptions[name] = argument["description"]
    return schema


def _is_usual_default(key: str, value: object) -> bool:
    return key == "default" and (not value or value in _OMITTED_DEFAULTS)


_OMITTED_KEYS: Final = frozenset({"minLength", "maxLength", "maxItems", "minimum"})
_OMITTED_DEFAULTS: Final = (DEFAULT, LAST_LINE)


def _tool(entry: ListedTool, arguments: JsonObject) -> Tool:
    return Tool(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        input_schema=arguments,
        annotations=_annotations(entry),
    )


def _annotations(entry: ListedTool) -> ToolAnnotations:
    """Return the annotations of a tool; the other hints do not apply to a read-only one."""
    if entry.is_read_only:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def arguments_schema(entry: ListedTool) -> JsonObject:
    """Return the argument schema of a tool, by which the SDK validates calls."""
    return {**schema_of(entry.arguments), "additionalProperties": False}


def failed(text: str) -> CallToolResult:
    """Return an error result; its text is all that a model sees of an error."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
