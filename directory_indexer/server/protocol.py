"""The tools over MCP: the one module that turns them into protocol messages, for every transport alike."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    INVALID_PARAMS,
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
    ToolAnnotations,
)

from directory_indexer import __version__
from directory_indexer.docstore.runs import RunRecord
from directory_indexer.errors import DirIndexError
from directory_indexer.server.budget import Budgets
from directory_indexer.server.calls import ContentCall, IndexAction, IndexCall
from directory_indexer.server.catalogue import CATALOGUE, ToolEntry
from directory_indexer.server.greeting import INSTRUCTIONS, NAME, TITLE
from directory_indexer.server.jobs import Job, percent
from directory_indexer.server.model import BackgroundModel, ModelState
from directory_indexer.server.places import URI_PREFIX, name_in_uri
from directory_indexer.server.shapes import ArgumentError, arguments_of, object_of, schema_of
from directory_indexer.server.tools import Answer, Tools, failure_text, index_answer, is_ended

_POLL_SECONDS = 0.25
_WARM_UP_SECONDS = 0.05
"""So long after the first answer the model begins to load: the answer is on its way by then."""

_Value = TypeVar("_Value")
_N_SLOW, _N_QUICK = 8, 16
_ENTRIES = {entry.name: entry for entry in CATALOGUE}
_log = logging.getLogger("dirindex.serve")


def make_server(tools: Tools, model: BackgroundModel) -> Server[None]:
    """Build the server that every transport runs."""
    session = _Session(tools, model)
    server = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=INSTRUCTIONS,
        lifespan=_lifespan,
        get_tool_input_schema=lambda name: schema_of(_ENTRIES[name].call) if name in _ENTRIES else None,
        on_list_tools=session.list_tools,
        on_call_tool=session.call_tool,
        on_list_resources=session.list_resources,
        on_list_resource_templates=session.list_templates,
        on_read_resource=session.read_resource,
        on_completion=session.complete,
    )
    server.middleware.append(session.warm_up)
    return server


@contextlib.asynccontextmanager
async def _lifespan(_: object) -> AsyncIterator[None]:
    yield None


class _Session:
    """The handlers. Searches and short questions wait in queues of their own, so that neither holds up the other."""

    def __init__(self, tools: Tools, model: BackgroundModel) -> None:
        self._tools = tools
        self._model = model
        self._slow = anyio.CapacityLimiter(_N_SLOW)
        self._quick = anyio.CapacityLimiter(_N_QUICK)

    async def warm_up(self, ctx: ServerRequestContext[Any, Any], call_next: Callable[..., Any]) -> Any:
        result = await call_next(ctx)
        if self._model.state is ModelState.UNLOADED:
            threading.Timer(_WARM_UP_SECONDS, self._model.start).start()
        return result

    async def list_tools(self, _: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(entry) for entry in CATALOGUE])

    async def call_tool(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        entry = _ENTRIES.get(params.name)
        if entry is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool '{params.name}'; tools are {', '.join(_ENTRIES)}")
        try:
            call: Any = arguments_of(entry.call, params.arguments or {})
            answer = await self._answer(ctx, entry, call)
        except ArgumentError as error:
            return _failed(f"{error.message}. Next: correct the arguments and call {entry.name} again.")
        except DirIndexError as error:
            _log.info("%s: %s", entry.name, error.message)
            return _failed(failure_text(error))
        except Exception:  # noqa: BLE001 - a bug in one tool must not end the session; it is logged
            _log.exception("%s failed", entry.name)
            return _failed(f"{entry.name} failed because of a bug; its log tells more. Next: call server_info.")
        links = [ResourceLink(uri=link.uri, name=link.name, mime_type="text/plain") for link in answer.links]
        text = TextContent(text=answer.text)
        return CallToolResult(content=[text, *links], structured_content=object_of(answer.result))

    async def list_resources(self, _: object, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=[])

    async def list_templates(self, _: object, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            uri_template=f"{URI_PREFIX}{{+path}}",
            name="file",
            title="Indexed file",
            description="The text of an indexed file, as search finds it; path is absolute, without the first slash.",
            mime_type="text/plain",
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: object, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            call = ContentCall(path=name_in_uri(uri), max_tokens=Budgets.MOST)
            answer = await self._in_thread(self._quick, lambda: self._tools.get_content(call))
        except DirIndexError as error:
            raise MCPError(INVALID_PARAMS, failure_text(error), data={"uri": uri}) from error
        contents = TextResourceContents(uri=uri, text=resource_text(answer), mime_type="text/plain")
        return ReadResourceResult(contents=[contents])

    async def complete(self, _: object, params: CompleteRequestParams) -> CompleteResult:
        if params.argument.name != "path" or getattr(params.ref, "uri", None) != f"{URI_PREFIX}{{+path}}":
            return CompleteResult(completion=Completion(values=[], total=0, has_more=False))
        typed = params.argument.value
        values, total = await self._in_thread(self._quick, lambda: self._tools.completions(typed))
        return CompleteResult(completion=Completion(values=values, total=total, has_more=total > len(values)))

    async def _answer(self, ctx: ServerRequestContext[Any, Any], entry: ToolEntry, call: Any) -> Answer:
        if isinstance(call, IndexCall):
            return await self._index(ctx, call)
        match entry.name:
            case "search":
                return await self._in_thread(self._slow, lambda: self._tools.search(call))
            case "similar_files":
                return await self._in_thread(self._slow, lambda: self._tools.similar_files(call))
            case "get_content":
                return await self._in_thread(self._quick, lambda: self._tools.get_content(call))
            case _:
                return await self._in_thread(self._quick, self._tools.server_info)

    async def _index(self, ctx: ServerRequestContext[Any, Any], call: IndexCall) -> Answer:
        if call.action is IndexAction.CANCEL:
            return await self._in_thread(self._slow, lambda: self._tools.cancel_index(call))
        job = await self._in_thread(self._quick, lambda: self._tools.start_index(call))
        if not isinstance(job, Job):
            return await self._wait(ctx, call, job)
        job.n_waiting += 1
        try:
            return await self._wait(ctx, call, job)
        except anyio.get_cancelled_exc_class():
            if job.n_waiting == 1:
                self._tools.jobs.cancel(job)
            raise
        finally:
            job.n_waiting -= 1

    async def _wait(self, ctx: ServerRequestContext[Any, Any], call: IndexCall, job: Job | RunRecord) -> Answer:
        """Answer when the run has ended, or when the time is up; meanwhile, say how far it is."""
        deadline = anyio.current_time() + call.wait_seconds
        told = 0.0
        while True:
            result = await self._in_thread(self._quick, lambda: self._tools.state_of(job))
            if is_ended(result) or anyio.current_time() >= deadline:
                if isinstance(job, Job):
                    job.is_told = is_ended(result)
                return index_answer(result)
            if percent(result) > told:
                told = percent(result)
                await ctx.session.report_progress(told, 100.0, _progress_text(index_answer(result)))
            await anyio.sleep(min(_POLL_SECONDS, max(deadline - anyio.current_time(), 0.0)))

    async def _in_thread(self, limiter: anyio.CapacityLimiter, work: Callable[[], _Value]) -> _Value:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)


def resource_text(answer: Answer) -> str:
    """Give the text of a file as a resource, which has no other place to say that it goes on."""
    result: Any = answer.result
    following = result.next_start_line or result.next_chunks
    if not following:
        return str(result.text)
    how = "start_line" if result.next_start_line else "chunks"
    return f"{result.text}\n[more: get_content(path={result.path!r}, {how}={following!r})]\n"


def _listed(entry: ToolEntry) -> Tool:
    return Tool(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        input_schema=schema_of(entry.call),
        output_schema=schema_of(entry.result),
        annotations=ToolAnnotations(
            title=entry.title,
            read_only_hint=entry.is_read_only,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _progress_text(answer: Answer) -> str:
    return answer.text.partition("\n")[0]
