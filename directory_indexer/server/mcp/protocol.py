"""MCP server: the tools as protocol messages, for all transports.

A toolset is all tools, or those that a cluster index can answer.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mcp import MCPError
from mcp.server import CacheHint, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    INVALID_PARAMS,
    Annotations,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceLink,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from directory_indexer import __version__
from directory_indexer.api import JsonObject
from directory_indexer.api.contents import TextAnswer
from directory_indexer.api.hits import SearchAnswer
from directory_indexer.api.operations import Operation, Pool
from directory_indexer.cluster_app import ClusterApp
from directory_indexer.collections import collection_not_found
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.lazy import lazily
from directory_indexer.server.background_model import BackgroundModel, ModelState
from directory_indexer.server.lifecycle import CLUSTER_INSTRUCTIONS, INSTRUCTIONS, LISTING_TTL_MS, NAME, TITLE
from directory_indexer.server.mcp import Budgets, clients, record_to_object
from directory_indexer.server.mcp.answer import PLAIN_TEXT, Answer, FileLink, media_type
from directory_indexer.server.mcp.arguments import (
    ArgumentError,
    ContentArguments,
    GrepCall,
    SearchCall,
    SimilarArguments,
    argument_aliases,
    parse_arguments,
)
from directory_indexer.server.mcp.clients import ClientRoots, ReturnedPassages, identify_client
from directory_indexer.server.mcp.executor import TOOLS, Caller, Progress, ToolExecutor
from directory_indexer.server.mcp.search_answer import requested_collections, requested_path
from directory_indexer.server.mcp.tool_results import (
    NEXT_CALLS,
    NEXT_CALLS_FROM_CLUSTER,
    NextCalls,
    arguments_schema,
    describe_tools,
    error_result,
    format_error_with_next_call,
)
from directory_indexer.server.path_resolution import URI_PREFIX, path_in_uri
from directory_indexer.storage.documents.runs import Origin
from directory_indexer.telemetry import spans
from directory_indexer.telemetry.spans import Word

with lazily:
    from directory_indexer.app import App
    from directory_indexer.server.mcp.operation_tools import OperationTools
    from directory_indexer.server.middleware import request_context
    from directory_indexer.storage.registry.keys import Key


_WARM_UP_SECONDS = 0.05
"""The delay of loading the model after the first response, which is sent by then."""

_CACHEABLE_METHODS: Final = ("tools/list", "resources/list", "resources/templates/list", "server/discover")
_CALLS_WITH_SCOPE = (SearchCall, GrepCall, SimilarArguments)
_ALL_TOOL_NAMES = frozenset(tool.name for tool in TOOLS)
_log = logging.getLogger("dirindex.serve")


class Toolset(NamedTuple):
    """The tools of a server and their instructions for models; `hidden_arguments` are not listed.

    `refusal` returns the error for the other tools, which only the machine with the index has.
    """

    tools: tuple[Operation[Caller], ...] = TOOLS
    instructions: str = INSTRUCTIONS
    next_calls: NextCalls = NEXT_CALLS
    hidden_arguments: frozenset[str] = frozenset()
    refusal: Callable[[str], DirIndexError] | None = None


FULL_TOOLSET: Final = Toolset()


def make_server(
    executor: ToolExecutor,
    model: BackgroundModel,
    more: OperationTools | None = None,
    *,
    toolset: Toolset = FULL_TOOLSET,
) -> Server[None]:
    """Build the MCP server for any transport; `more` are additional tools."""
    session = _Session(executor, model, more, toolset)
    server = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=toolset.instructions,
        lifespan=_lifespan,
        cache_hints=dict.fromkeys(_CACHEABLE_METHODS, CacheHint(ttl_ms=LISTING_TTL_MS)),
        get_tool_input_schema=session.schema_of_tool,
        on_list_tools=session.list_tools,
        on_call_tool=session.call_tool,
        on_list_resources=session.list_resources,
        on_list_resource_templates=session.list_templates,
        on_read_resource=session.read_resource,
        on_completion=session.complete,
    )
    server.middleware.append(session.warm_up)
    server.middleware.append(_with_request_id)
    return server


@contextlib.asynccontextmanager
async def _lifespan(_: object) -> AsyncIterator[None]:
    yield None


class _Session:
    """The request handlers."""

    def __init__(
        self, executor: ToolExecutor, model: BackgroundModel, more: OperationTools | None, toolset: Toolset
    ) -> None:
        self._executor = executor
        self._toolset = toolset
        self._tools = {tool.name: tool for tool in toolset.tools}
        self._model = model
        self._more = more
        self._roots = ClientRoots()
        self._returned = ReturnedPassages()

    async def warm_up(self, ctx: ServerRequestContext[Any, Any], call_next: Callable[..., Any]) -> Any:
        result = await call_next(ctx)
        if self._model.state is ModelState.UNLOADED:
            threading.Timer(_WARM_UP_SECONDS, self._model.start).start()
        return result

    def schema_of_tool(self, name: str) -> JsonObject | None:
        if self._more is not None and name in self._more:
            return self._more.arguments_schema(name)
        return arguments_schema(self._tools[name]) if name in self._tools else None

    async def list_tools(
        self, ctx: ServerRequestContext[Any, Any], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        more = self._more.listed(_key_of(ctx)) if self._more is not None else []
        return ListToolsResult(
            tools=[*describe_tools(self._toolset.tools, hidden_arguments=self._toolset.hidden_arguments), *more]
        )

    async def call_tool(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        if self._more is not None and params.name in self._more:
            answer = self._more.answer(params.name, params.arguments or {}, _key_of(ctx))
            return await self._answer_in_span(ctx, params.name, answer)
        tool = self._tools.get(params.name)
        if tool is None and self._toolset.refusal is not None and params.name in _ALL_TOOL_NAMES:
            return await self._refusal_result(self._toolset.refusal, params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool '{params.name}'; tools are {', '.join(self._tools)}")
        if not tool.is_read_only and not _may_write(ctx):
            return error_result(f"{tool.name} needs a key with the right to write. Next: search what is indexed.")
        return await self._answer_in_span(ctx, tool.name, self._run_tool(ctx, tool, params))

    async def _refusal_result(self, refusal: Callable[[str], DirIndexError], name: str) -> CallToolResult:
        try:
            return error_result(self._error_text(await self._executor.run(Pool.READ, lambda: refusal(name))))
        except DirIndexError as error:
            return error_result(self._error_text(error))

    def _error_text(self, error: DirIndexError) -> str:
        return format_error_with_next_call(error, self._toolset.next_calls)

    async def _answer_in_span(
        self, ctx: ServerRequestContext[Any, Any], name: str, answer: Awaitable[CallToolResult]
    ) -> CallToolResult:
        with spans.span(f"call {name}", within=_traceparent_of_request(ctx), tool=Word(name)) as span:
            result = await answer
            span.note(is_error=bool(result.is_error))
            return result

    async def _run_tool(
        self, ctx: ServerRequestContext[Any, Any], tool: Operation[Caller], params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            call = _parse_call(tool, params.arguments or {})
            await self._set_call_context(ctx, call)
            caller = Caller(self._executor, _make_progress_reporter(ctx), _collection_access_of(ctx), _origin_of(ctx))
            require_collection_access(caller.grants_collection, call)
            answer = await self._executor.answer(tool, caller, call)
        except ArgumentError as error:
            return error_result(f"{error.message}. Next: correct the arguments and call {tool.name} again.")
        except DirIndexError as error:
            _log.info("%s: %s", tool.name, error.message)
            return error_result(self._error_text(error))
        except Exception:  # noqa: BLE001 - a bug in one tool must not end the session; it is logged
            _log.exception("%s failed", tool.name)
            return error_result(f"{tool.name} failed because of a bug; its log tells more. Next: call server_info.")
        if isinstance(answer.result, SearchAnswer):
            self._returned.record(identify_client(ctx), answer.result.hits)
        links = map(_resource_link, answer.links)
        return CallToolResult(
            content=[TextContent(text=answer.text), *links], structured_content=record_to_object(answer.result)
        )

    async def _set_call_context(self, ctx: ServerRequestContext[Any, Any], call: Any) -> None:
        """Set the client's roots, if the call has no path, and the passages already returned in the session."""
        if isinstance(call, _CALLS_WITH_SCOPE) and not requested_path(call):
            clients.current_roots.set(await self._roots.roots_of(ctx))
        if isinstance(call, SearchCall) and not call.again and not call.plain:
            clients.returned_lines.set(self._returned.lines_returned_to(identify_client(ctx)))

    async def list_resources(self, _: object, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=[])

    async def list_templates(self, _: object, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            uri_template=f"{URI_PREFIX}{{+path}}",
            name="file",
            title="Indexed file",
            description="The text of an indexed file, as search finds it; path is absolute, without the first slash.",
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, ctx: ServerRequestContext[Any, Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            call = ContentArguments(path=path_in_uri(uri), max_tokens=Budgets.MOST)
            require_collection_access(_collection_access_of(ctx), call)
            answer = await self._executor.run(Pool.READ, lambda: self._executor.tools.get_content(call))
        except DirIndexError as error:
            raise MCPError(INVALID_PARAMS, self._error_text(error), data={"uri": uri}) from error
        contents = TextResourceContents(uri=uri, text=resource_text(answer), mime_type=_media_type_of_answer(answer))
        return ReadResourceResult(contents=[contents])

    async def complete(self, ctx: ServerRequestContext[Any, Any], params: CompleteRequestParams) -> CompleteResult:
        is_path = params.argument.name == "path" and getattr(params.ref, "uri", None) == f"{URI_PREFIX}{{+path}}"
        if not is_path or not _collection_access_of(ctx)(DEFAULT):
            return CompleteResult(completion=Completion(values=[], total=0, has_more=False))
        typed = params.argument.value
        values, total = await self._executor.run(Pool.READ, lambda: self._executor.tools.completions(typed))
        return CompleteResult(completion=Completion(values=values, total=total, has_more=total > len(values)))


def _parse_call(tool: Operation[Caller], arguments: Mapping[str, Any]) -> Any:
    """Parse the arguments of a call; a search with an aliased argument is answered by the plain contract."""
    call = parse_arguments(tool.arguments, arguments, of=tool.name)
    if isinstance(call, SearchCall):
        return call._replace(
            plain=any(alias.name in arguments for alias in argument_aliases(tool.arguments, tool.name))
        )
    return call


def resource_text(answer: Answer) -> str:
    """Return the text of a resource, with a note if there is more, since a resource has no field for that."""
    result: Any = answer.result
    following = result.next_start_line or result.next_chunks
    if not following:
        return str(result.text)
    argument = "start_line" if result.next_start_line else "chunks"
    return f"{result.text}\n[more: get_content(path={result.path!r}, {argument}={following!r})]\n"


def _media_type_of_answer(answer: Answer) -> str:
    return media_type(answer.result.kind) if isinstance(answer.result, TextAnswer) else PLAIN_TEXT


async def _with_request_id(ctx: ServerRequestContext[Any, Any], call_next: Callable[..., Any]) -> Any:
    """Set the id of the HTTP request of a call for the log; the context holds that of the session's first request."""
    if ctx.request is None:  # on standard input
        return await call_next(ctx)
    token = request_context.request_id.set(request_context.context_of(ctx.request.scope).request_id)
    try:
        return await call_next(ctx)
    finally:
        request_context.request_id.reset(token)


def _traceparent_of_request(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return the traceparent of the HTTP request of a call; the current span is that of the session's first request."""
    return request_context.context_of(ctx.request.scope).span if ctx.request else ""


def _key_of(ctx: ServerRequestContext[Any, Any]) -> Key | None:
    return request_context.context_of(ctx.request.scope).key if ctx.request else None


def _may_write(ctx: ServerRequestContext[Any, Any]) -> bool:
    return ctx.request is None or request_context.context_of(ctx.request.scope).may_write()


def _collection_access_of(ctx: ServerRequestContext[Any, Any]) -> Callable[[str], bool]:
    """Return the predicate of the collections that the key of a call grants; a local client has all."""
    return request_context.context_of(ctx.request.scope).grants_collection if ctx.request else lambda _: True


def _origin_of(ctx: ServerRequestContext[Any, Any]) -> Origin:
    """Return the origin under which a client stops index runs: an admin may also stop those of terminals."""
    return (
        request_context.origin_of(request_context.context_of(ctx.request.scope).key) if ctx.request else Origin.SERVER
    )


def require_collection_access(grants_collection: Callable[[str], bool], call: Any) -> None:
    """Require that the caller may use the collections of a call.

    Raises:
        NotIndexedError: a collection is not accessible; the error does not reveal whether it exists.
    """
    for name in requested_collections(call):
        if not grants_collection(name):
            raise collection_not_found(name)


def _resource_link(link: FileLink) -> ResourceLink:
    return ResourceLink(
        uri=link.uri,
        name=link.name,
        mime_type=link.media_type,
        size=link.size,
        annotations=Annotations(last_modified=link.modified) if link.modified else None,
    )


def _make_progress_reporter(ctx: ServerRequestContext[Any, Any]) -> Progress:
    async def report(percent: float, text: str) -> None:
        await ctx.session.report_progress(percent, 100.0, text)

    return report


CLUSTER_TOOLSET: Final = frozenset({"search", "get_content", "server_info"})
"""The tools that a cluster index can answer; all others need the database or the files."""


def toolset_for_app(app: App) -> Toolset:
    """Return the toolset for the index of an app."""
    if isinstance(app, ClusterApp):
        return Toolset(
            tuple(_with_cluster_description(tool) for tool in TOOLS if tool.name in CLUSTER_TOOLSET),
            CLUSTER_INSTRUCTIONS,
            NEXT_CALLS_FROM_CLUSTER,
            frozenset({"collection", "collections"}),
            app.unsupported_operation_error,
        )
    return FULL_TOOLSET


def _with_cluster_description(tool: Operation[Caller]) -> Operation[Caller]:
    return replace(tool, description=_CLUSTER_DESCRIPTIONS.get(tool.name, tool.description))


_CLUSTER_DESCRIPTIONS: Final = {
    "get_content": "Read an indexed file of any format, or list a directory. Use it after search, with path and "
    "start_line of a hit.",
    "server_info": "List indexed directories. Use it to learn what can be searched.",
}
"""Descriptions of the tools whose usual ones mention tools or data that a cluster index lacks."""
