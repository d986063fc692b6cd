"""The tools over MCP: the one module that turns them into protocol messages, for every transport alike."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

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
    Tool,
)

from directory_indexer import __version__
from directory_indexer.config.collections import DEFAULT
from directory_indexer.docstore.runs import Origin
from directory_indexer.errors import DirIndexError
from directory_indexer.lazy import lazily
from directory_indexer.server import client_roots, shown
from directory_indexer.server.answer import Answer
from directory_indexer.server.arguments import (
    ArgumentError,
    ContentArguments,
    GrepArguments,
    SearchArguments,
    SimilarArguments,
    aliases_of,
    arguments_of,
)
from directory_indexer.server.budget import Budgets
from directory_indexer.server.catalogue import TOOLS, ToolEntry
from directory_indexer.server.client_roots import ClientRoots
from directory_indexer.server.clients import client_of
from directory_indexer.server.failures import NEXT_CALLS, NextCalls, failure_text
from directory_indexer.server.identity import FRESH_MS, INSTRUCTIONS, NAME, TITLE
from directory_indexer.server.links import PLAIN, Link, media_type
from directory_indexer.server.model import BackgroundModel, ModelState
from directory_indexer.server.places import URI_PREFIX, name_in_uri
from directory_indexer.server.questions import collections_named, place_named
from directory_indexer.server.running import Caller, Desk, Progress
from directory_indexer.server.schemas import object_for_models
from directory_indexer.server.shown import ShownPassages
from directory_indexer.server.tool_lists import arguments_schema, failed, listed_tools
from directory_indexer.team.collections import no_collection
from directory_indexer.telemetry import spans
from directory_indexer.telemetry.spans import Word
from directory_indexer.wire.documents import TextAnswer
from directory_indexer.wire.hits import SearchAnswer
from directory_indexer.wire.objects import JsonObject

with lazily:
    from directory_indexer.registry.keys import Key
    from directory_indexer.server.gate import visits

_WARM_UP_SECONDS = 0.05
"""So long after the first answer the model begins to load: the answer is on its way by then."""

_UNCHANGING: Final = ("tools/list", "resources/list", "resources/templates/list", "server/discover")
_LOOKING = (SearchArguments, GrepArguments, SimilarArguments)
_ALL_NAMES = frozenset(entry.name for entry in TOOLS)
_log = logging.getLogger("dirindex.serve")


class MoreTools(Protocol):
    """Tools beside those of the catalogue, for those whose key allows them."""

    def __contains__(self, name: str) -> bool: ...

    def listed(self, key: Key | None) -> list[Tool]:
        """Describe those that a key allows."""

    def arguments_schema(self, name: str) -> JsonObject:
        """Give the schema of what one takes."""

    async def answer(self, name: str, given: Mapping[str, Any], key: Key | None) -> CallToolResult:
        """Do what one does."""


class Offer(NamedTuple):
    """The tools that a server has, and what it tells models of them; arguments that are `untold` are not listed.

    `refusal` says of the other tools that the machine with the index has them.
    """

    tools: tuple[ToolEntry, ...] = TOOLS
    instructions: str = INSTRUCTIONS
    next_calls: NextCalls = NEXT_CALLS
    untold: frozenset[str] = frozenset()
    refusal: Callable[[str], DirIndexError] | None = None


EVERYTHING: Final = Offer()


def make_server(
    desk: Desk, model: BackgroundModel, more: MoreTools | None = None, *, offer: Offer = EVERYTHING
) -> Server[None]:
    """Build the server that every transport runs; `more` are tools that one of them has."""
    session = _Session(desk, model, more, offer)
    server = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=offer.instructions,
        lifespan=_lifespan,
        cache_hints=dict.fromkeys(_UNCHANGING, CacheHint(ttl_ms=FRESH_MS)),
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
    """The handlers."""

    def __init__(self, desk: Desk, model: BackgroundModel, more: MoreTools | None, offer: Offer) -> None:
        self._desk = desk
        self._offer = offer
        self._entries = {entry.name: entry for entry in offer.tools}
        self._model = model
        self._more = more
        self._roots = ClientRoots()
        self._shown = ShownPassages()

    async def warm_up(self, ctx: ServerRequestContext[Any, Any], call_next: Callable[..., Any]) -> Any:
        result = await call_next(ctx)
        if self._model.state is ModelState.UNLOADED:
            threading.Timer(_WARM_UP_SECONDS, self._model.start).start()
        return result

    def schema_of_tool(self, name: str) -> JsonObject | None:
        if self._more is not None and name in self._more:
            return self._more.arguments_schema(name)
        return arguments_schema(self._entries[name]) if name in self._entries else None

    async def list_tools(
        self, ctx: ServerRequestContext[Any, Any], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        more = self._more.listed(_key(ctx)) if self._more is not None else []
        return ListToolsResult(tools=[*listed_tools(self._offer.tools, untold=self._offer.untold), *more])

    async def call_tool(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        if self._more is not None and params.name in self._more:
            answer = self._more.answer(params.name, params.arguments or {}, _key(ctx))
            return await self._noted(ctx, params.name, answer)
        entry = self._entries.get(params.name)
        if entry is None and self._offer.refusal is not None and params.name in _ALL_NAMES:
            return await self._refused(self._offer.refusal, params.name)
        if entry is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool '{params.name}'; tools are {', '.join(self._entries)}")
        if not entry.is_read_only and not _may_write(ctx):
            return failed(f"{entry.name} needs a key with the right to write. Next: search what is indexed.")
        return await self._noted(ctx, entry.name, self._called(ctx, entry, params))

    async def _refused(self, refusal: Callable[[str], DirIndexError], name: str) -> CallToolResult:
        try:
            return failed(self._told(await self._desk.quickly(lambda: refusal(name))))
        except DirIndexError as error:
            return failed(self._told(error))

    def _told(self, error: DirIndexError) -> str:
        return failure_text(error, self._offer.next_calls)

    async def _noted(
        self, ctx: ServerRequestContext[Any, Any], name: str, answer: Awaitable[CallToolResult]
    ) -> CallToolResult:
        with spans.span(f"call {name}", within=_span_around(ctx), tool=Word(name)) as span:
            result = await answer
            span.note(is_error=bool(result.is_error))
            return result

    async def _called(
        self, ctx: ServerRequestContext[Any, Any], entry: ToolEntry, params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            call = _call_of(entry, params.arguments or {})
            await self._make_known(ctx, call)
            caller = Caller(_progress(ctx), _reach(ctx), _origin(ctx))
            require_reach(caller.reaches, call)
            answer = await entry.run(self._desk, call, caller)
        except ArgumentError as error:
            return failed(f"{error.message}. Next: correct the arguments and call {entry.name} again.")
        except DirIndexError as error:
            _log.info("%s: %s", entry.name, error.message)
            return failed(self._told(error))
        except Exception:  # noqa: BLE001 - a bug in one tool must not end the session; it is logged
            _log.exception("%s failed", entry.name)
            return failed(f"{entry.name} failed because of a bug; its log tells more. Next: call server_info.")
        if isinstance(answer.result, SearchAnswer):
            self._shown.note(client_of(ctx), answer.result.hits)
        links = map(_resource_link, answer.links)
        return CallToolResult(
            content=[TextContent(text=answer.text), *links], structured_content=object_for_models(answer.result)
        )

    async def _make_known(self, ctx: ServerRequestContext[Any, Any], call: Any) -> None:
        """Say to the tools where the client works, if the call names no place, and what the session was shown."""
        if isinstance(call, _LOOKING) and not place_named(call):
            client_roots.named.set(await self._roots.of(ctx))
        if isinstance(call, SearchArguments) and not call.again and not call.plain:
            shown.before.set(self._shown.of(client_of(ctx)))

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
            call = ContentArguments(path=name_in_uri(uri), max_tokens=Budgets.MOST)
            require_reach(_reach(ctx), call)
            answer = await self._desk.quickly(lambda: self._desk.tools.get_content(call))
        except DirIndexError as error:
            raise MCPError(INVALID_PARAMS, self._told(error), data={"uri": uri}) from error
        contents = TextResourceContents(uri=uri, text=resource_text(answer), mime_type=_media_type(answer))
        return ReadResourceResult(contents=[contents])

    async def complete(self, ctx: ServerRequestContext[Any, Any], params: CompleteRequestParams) -> CompleteResult:
        is_path = params.argument.name == "path" and getattr(params.ref, "uri", None) == f"{URI_PREFIX}{{+path}}"
        if not is_path or not _reach(ctx)(DEFAULT):
            return CompleteResult(completion=Completion(values=[], total=0, has_more=False))
        typed = params.argument.value
        values, total = await self._desk.quickly(lambda: self._desk.tools.completions(typed))
        return CompleteResult(completion=Completion(values=values, total=total, has_more=total > len(values)))


def _call_of(entry: ToolEntry, arguments: Mapping[str, Any]) -> Any:
    """Parse the arguments of a call; a search that has an alias among them is answered by the plain contract."""
    call = arguments_of(entry.arguments, arguments, of=entry.name)
    if isinstance(call, SearchArguments):
        return call._replace(plain=any(alias.name in arguments for alias in aliases_of(entry.arguments, entry.name)))
    return call


def resource_text(answer: Answer) -> str:
    """Give the text of a file as a resource, which has no other place to say that it goes on."""
    result: Any = answer.result
    following = result.next_start_line or result.next_chunks
    if not following:
        return str(result.text)
    how = "start_line" if result.next_start_line else "chunks"
    return f"{result.text}\n[more: get_content(path={result.path!r}, {how}={following!r})]\n"


def _media_type(answer: Answer) -> str:
    return media_type(answer.result.kind) if isinstance(answer.result, TextAnswer) else PLAIN


async def _with_request_id(ctx: ServerRequestContext[Any, Any], call_next: Callable[..., Any]) -> Any:
    """Have what is logged about a call name the request that brought it, not the one that opened its session."""
    if ctx.request is None:  # on standard input
        return await call_next(ctx)
    token = visits.request_id.set(visits.visit_of(ctx.request.scope).request_id)
    try:
        return await call_next(ctx)
    finally:
        visits.request_id.reset(token)


def _span_around(ctx: ServerRequestContext[Any, Any]) -> str:
    """Name the span of the request that brought a call: calls are done where its session began."""
    return visits.visit_of(ctx.request.scope).span if ctx.request else ""


def _key(ctx: ServerRequestContext[Any, Any]) -> Key | None:
    return visits.visit_of(ctx.request.scope).key if ctx.request else None


def _may_write(ctx: ServerRequestContext[Any, Any]) -> bool:
    return ctx.request is None or visits.visit_of(ctx.request.scope).may_write()


def _reach(ctx: ServerRequestContext[Any, Any]) -> Callable[[str], bool]:
    """Give what tells for which collections a call came by a key; who sits at the machine has all of them."""
    return visits.visit_of(ctx.request.scope).reaches if ctx.request else lambda _: True


def _origin(ctx: ServerRequestContext[Any, Any]) -> Origin:
    """Tell as who a client stops index runs: with the right to everything it stops those of terminals, too."""
    return visits.origin_of(visits.visit_of(ctx.request.scope).key) if ctx.request else Origin.SERVER


def require_reach(reaches: Callable[[str], bool], call: Any) -> None:
    """Look whether a call is about collections that are there for whoever calls.

    Raises:
        NotIndexedError: one is not; nothing tells whether there is one of that name.
    """
    for name in collections_named(call):
        if not reaches(name):
            raise no_collection(name)


def _resource_link(link: Link) -> ResourceLink:
    return ResourceLink(
        uri=link.uri,
        name=link.name,
        mime_type=link.media_type,
        size=link.size,
        annotations=Annotations(last_modified=link.modified) if link.modified else None,
    )


def _progress(ctx: ServerRequestContext[Any, Any]) -> Progress:
    async def report(percent: float, text: str) -> None:
        await ctx.session.report_progress(percent, 100.0, text)

    return report
