"""Tool listings for clients, and error results.

Error messages are for models: each names the call to make next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, TypeAlias

from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from directory_indexer.api import JsonObject
from directory_indexer.api.operations import Operation
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import (
    BusyError,
    CorruptIndexError,
    CorruptRegistryError,
    DirIndexError,
    IndexMismatchError,
    LockedError,
    NotHereError,
    NotIndexedError,
    NotStoppableError,
    ProviderError,
    StoreError,
    UsageError,
    VectorStoreError,
)
from directory_indexer.server.mcp import record_schema
from directory_indexer.server.mcp.answer_text import escape_controls
from directory_indexer.server.mcp.arguments import IN_COLLECTION, LAST_LINE


def describe_tools(tools: Iterable[Operation[Any]], *, hidden_arguments: Collection[str] = ()) -> list[Tool]:
    """Return the descriptions of tools, without result schemas, which would take three times as many tokens.

    `hidden_arguments` are omitted.

    Assistants pay for each word: the description and the default of an argument are not repeated if they are those of
    the tool before.
    """
    descriptions, defaults = {"collection": IN_COLLECTION}, dict[str, object]()
    listings = []
    for tool in tools:
        schema = record_schema(tool.arguments)
        properties = {
            name: _shortened_argument_schema(name, argument, descriptions, defaults)
            for name, argument in schema["properties"].items()
            if name not in hidden_arguments
        }
        listings.append(_list_tool(tool, {**schema, "properties": properties}))
    return listings


def _shortened_argument_schema(
    name: str, argument: JsonObject, descriptions: dict[str, str], defaults: dict[str, object]
) -> JsonObject:
    """Return the schema of an argument, without limits except the first maximum, repeated descriptions and defaults."""
    default = argument.get("default")
    usual = (DEFAULT, LAST_LINE, 1, next(iter(argument.get("enum", ())), None), defaults.get(name))
    schema = {key: value for key, value in argument.items() if key not in _OMITTED_KEYS and value != LAST_LINE}
    if not default or default in usual:
        schema.pop("default", None)
    defaults[name] = default
    if descriptions.get(name) == argument["description"]:
        del schema["description"]
        schema.pop("maximum", None)
    descriptions[name] = argument["description"]
    return schema


_OMITTED_KEYS: Final = frozenset({"minLength", "maxLength", "maxItems", "minimum", "pattern"})


def _list_tool(tool: Operation[Any], arguments: JsonObject) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=arguments,
        annotations=_tool_annotations(tool),
    )


def _tool_annotations(tool: Operation[Any]) -> ToolAnnotations:
    """Return the annotations of a tool; the other hints do not apply to a read-only one."""
    if tool.is_read_only:
        return ToolAnnotations(read_only_hint=True)
    return ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def arguments_schema(tool: Operation[Any]) -> JsonObject:
    """Return the argument schema of a tool, by which the SDK validates calls."""
    return {**record_schema(tool.arguments), "additionalProperties": False}


def error_result(text: str) -> CallToolResult:
    """Return an error result; its text is all that a model sees of an error."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


NextCalls: TypeAlias = Sequence[tuple[type[DirIndexError], str]]
"""The next call after an error, by its class; the first matching row applies."""


class NoRunError(UsageError):
    """No index run can be stopped."""


NEXT_CALLS: Final[NextCalls] = (
    (
        NotIndexedError,
        "call server_info to see what is indexed and what may be, search to find files, or index to add or refresh.",
    ),
    (BusyError, "repeat the call in a second."),
    (NoRunError, "call server_info to see how the last one ended, or index without action to start one."),
    (NotStoppableError, "tell the user, or call index without action to wait for it."),
    (NotHereError, "call search or get_content here, or tell the user which machine has the index."),
    (UsageError, "correct this and call the same tool again."),
    (ProviderError, 'call search with mode="keyword", or again in a few seconds.'),
    (IndexMismatchError, 'call search with mode="keyword"; the user can run `dirindex index --yes`.'),
    (LockedError, "call server_info to see the run that goes on, then index again."),
    (CorruptIndexError, "ask the user to run `dirindex doctor --repair`."),
    (CorruptRegistryError, "ask the user to run `dirindex doctor --repair`."),
    (VectorStoreError, 'call search with mode="keyword"; the user can run `dirindex doctor`.'),
    (StoreError, "ask the user to run `dirindex doctor`."),
    (DirIndexError, "call server_info."),
)

NEXT_CALLS_FROM_CLUSTER: Final[NextCalls] = (
    (NotIndexedError, "call search to find files, or server_info to see which directories are indexed."),
    (VectorStoreError, "call the same tool again in a minute; if that fails, too, tell the user."),
    (IndexMismatchError, 'call search with mode="keyword", and tell the user.'),
    *NEXT_CALLS,
)
"""The next calls for a server that only reads a cluster index."""


def format_error_with_next_call(error: DirIndexError, next_calls: NextCalls = NEXT_CALLS) -> str:
    """Format an error and the call to make next."""
    hint = f" ({error.hint})" if error.hint and not error.hint.startswith("dirindex ") else ""
    next_call = next(next_call for kind, next_call in next_calls if isinstance(error, kind))
    return f"{escape_controls(error.message)}{escape_controls(hint)}. Next: {next_call}"
