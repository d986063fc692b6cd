"""The table of the tools, in the order in which clients see them, and their execution in worker threads.

Searches, reads, writes, fetches and worker processes have separate queues, so no kind of call blocks another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from directory_indexer.api.contents import ConvertedText, GrepAnswer, OutlineAnswer, TextAnswer
from directory_indexer.api.hits import SearchAnswer
from directory_indexer.api.runs import Run
from directory_indexer.api.symbols import LocateAnswer, SymbolAnswer
from directory_indexer.core.errors import BusyError
from directory_indexer.integrations.converting.converter import is_url
from directory_indexer.server.index_jobs import Job, percent
from directory_indexer.server.mcp.answer import Answer, ServerAnswer
from directory_indexer.server.mcp.arguments import (
    ContentArguments,
    ConvertArguments,
    GrepArguments,
    IndexAction,
    IndexArguments,
    InfoArguments,
    LocateArguments,
    OutlineArguments,
    SearchArguments,
    SimilarArguments,
    SymbolArguments,
)
from directory_indexer.server.mcp.index_tool import index_answer, is_ended
from directory_indexer.server.mcp.tools import Tools
from directory_indexer.storage.documents.runs import Origin, RunRecord

_POLL_SECONDS = 0.25
_N_SLOW, _N_QUICK, _N_PATIENT, _N_REMOTE, _N_ELSEWHERE = 8, 16, 8, 4, 4
_MAX_QUEUED = 100
"""This many searches take about two seconds; further calls are rejected at once rather than after a long wait."""

_Value = TypeVar("_Value")

Progress: TypeAlias = Callable[[float, str], Awaitable[None]]
"""Reports the progress of a call to the client, in percent and in words."""


class Caller(NamedTuple):
    """The caller of a tool: how to report progress to it, and which collections it may use."""

    progress: Progress
    reaches: Callable[[str], bool]
    origin: Origin = Origin.SERVER
    """The origin under which it stops index runs."""


class ToolExecutor:
    """The tools with their queues."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self._slow = anyio.CapacityLimiter(_N_SLOW)
        self._quick = anyio.CapacityLimiter(_N_QUICK)
        self._patient = anyio.CapacityLimiter(_N_PATIENT)
        self._remote = anyio.CapacityLimiter(_N_REMOTE)
        self._elsewhere = anyio.CapacityLimiter(_N_ELSEWHERE)

        self._queues = (self._slow, self._quick, self._patient, self._remote, self._elsewhere)

    @property
    def n_waiting(self) -> int:
        """The number of queued calls."""
        return sum(queue.statistics().tasks_waiting for queue in self._queues)

    async def in_search_pool(self, work: Callable[[], _Value]) -> _Value:
        """Run work that may take seconds.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._slow)

    async def in_read_pool(self, work: Callable[[], _Value]) -> _Value:
        """Run work that takes milliseconds.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._quick)

    async def in_write_pool(self, work: Callable[[], _Value]) -> _Value:
        """Run work that writes, and may wait for other writers.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._patient)

    async def in_network_pool(self, work: Callable[[], _Value]) -> _Value:
        """Run work that waits for a web server, which may take a minute for each response.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._remote)

    async def elsewhere(self, work: Callable[[], _Value]) -> _Value:
        """Run work that a worker process does, such as drawing a page.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._elsewhere)


async def _run_in_queue(work: Callable[[], _Value], limiter: anyio.CapacityLimiter) -> _Value:
    if limiter.statistics().tasks_waiting >= _MAX_QUEUED:
        raise BusyError("the server has as much to do as it can take")
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)


ToolRun: TypeAlias = Callable[[ToolExecutor, Any, Caller], Awaitable[Answer]]
"""The implementation of a tool."""


def in_search_pool(tool: Callable[[Tools, Any], Answer]) -> ToolRun:
    """Return the runner of a tool that searches."""

    async def run(desk: ToolExecutor, call: Any, _: Caller) -> Answer:
        return await desk.in_search_pool(lambda: tool(desk.tools, call))

    return run


def in_read_pool(tool: Callable[[Tools, Any], Answer]) -> ToolRun:
    """Return the runner of a tool that reads."""

    async def run(desk: ToolExecutor, call: Any, _: Caller) -> Answer:
        return await desk.in_read_pool(lambda: tool(desk.tools, call))

    return run


async def convert(desk: ToolExecutor, call: ConvertArguments, _: Caller) -> Answer:
    """Convert a document, which may have to be fetched first."""
    run = desk.in_network_pool if is_url(call.source) else desk.in_search_pool
    return await run(lambda: desk.tools.convert_to_text(call))


async def server_info(desk: ToolExecutor, call: InfoArguments, caller: Caller) -> Answer:
    """Return what is indexed."""
    return await desk.in_read_pool(lambda: desk.tools.server_info(call, caller.reaches))


async def index(desk: ToolExecutor, call: IndexArguments, caller: Caller) -> Answer:
    """Start, join or stop an index run; a run is cancelled when the only call that waits for it is."""
    verbs = desk.tools.index
    if call.action is IndexAction.CANCEL:
        return await desk.in_write_pool(lambda: verbs.cancel(call, by=caller.origin))
    if call.action is IndexAction.PAUSE:
        return await desk.in_write_pool(lambda: verbs.pause(call, by=caller.origin))
    begin = verbs.resume if call.action is IndexAction.RESUME else verbs.start
    job = await desk.in_read_pool(lambda: begin(call))
    if not isinstance(job, Job):
        return await _wait(desk, call, job, caller.progress)
    job.n_waiting += 1
    try:
        return await _wait(desk, call, job, caller.progress)
    except anyio.get_cancelled_exc_class():
        if job.n_waiting == 1:
            desk.tools.jobs.of(call.collection).cancel(job)
        raise
    finally:
        job.n_waiting -= 1


async def _wait(desk: ToolExecutor, call: IndexArguments, job: Job | RunRecord, progress: Progress) -> Answer:
    """Report progress until the run has ended or the time is up, then return its state."""
    deadline = anyio.current_time() + call.wait_seconds
    reported_percent = 0.0
    while True:
        result = await desk.in_read_pool(lambda: desk.tools.jobs.of(call.collection).state_of(job))
        if is_ended(result) or anyio.current_time() >= deadline:
            if isinstance(job, Job):
                job.is_reported = is_ended(result)
            return index_answer(result)
        if percent(result) > reported_percent:
            reported_percent = percent(result)
            await progress(reported_percent, index_answer(result).text.partition("\n")[0])
        await anyio.sleep(min(_POLL_SECONDS, max(deadline - anyio.current_time(), 0.0)))


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One tool: its listing, its argument and result records, and its implementation."""

    name: str
    title: str
    description: str
    arguments: type
    result: type
    run: ToolRun
    is_read_only: bool = True


TOOLS = (
    ToolEntry(
        "search",
        "Search files",
        "Find passages in notes, documents and code by meaning and by words. Use it first, before listing or reading "
        "files. Put several questions into one call.",
        SearchArguments,
        SearchAnswer,
        in_search_pool(Tools.search),
    ),
    ToolEntry(
        "grep",
        "Find all lines",
        "Find every matching line in all formats, exact and complete. Use it for known names and phrases, and to miss "
        "nothing.",
        GrepArguments,
        GrepAnswer,
        in_search_pool(Tools.grep),
    ),
    ToolEntry(
        "symbol",
        "Find a symbol",
        "Find where a name of code is defined, who calls it and which tests use it. Use it instead of grep for names.",
        SymbolArguments,
        SymbolAnswer,
        in_search_pool(Tools.symbol),
    ),
    ToolEntry(
        "locate",
        "Locate a problem",
        "List the files and lines to read for an issue, stack trace, failing test or diff. Use it first to fix one.",
        LocateArguments,
        LocateAnswer,
        in_search_pool(Tools.locate),
    ),
    ToolEntry(
        "outline",
        "Outline a file",
        "List symbols, headings or pages of a file with lines and tokens, or the tree of a directory. Use it before "
        "long files.",
        OutlineArguments,
        OutlineAnswer,
        in_read_pool(Tools.outline),
    ),
    ToolEntry(
        "get_content",
        "Read a file",
        "Read an indexed file of any format, or list a directory. Use it after search or grep, with path and start_line "
        "of a hit.",
        ContentArguments,
        TextAnswer,
        in_read_pool(Tools.get_content),
    ),
    ToolEntry(
        "similar_files",
        "Find similar files",
        "Find files like one: related notes, duplicates, other implementations.",
        SimilarArguments,
        SearchAnswer,
        in_search_pool(Tools.similar_files),
    ),
    ToolEntry(
        "convert_to_text",
        "Convert to Markdown",
        "Convert an office file, PDF, mail, book or web page to Markdown. Use it where get_content loses tables.",
        ConvertArguments,
        ConvertedText,
        convert,
    ),
    ToolEntry(
        "index",
        "Index directories",
        "Update the index of directories, or add one. Use it when files are missing or have changed. Runs in the "
        'background: while "running", call it again.',
        IndexArguments,
        Run,
        index,
        is_read_only=False,
    ),
    ToolEntry(
        "server_info",
        "Show what is indexed",
        "List indexed directories, collections and the index run. Use it to learn what can be searched.",
        InfoArguments,
        ServerAnswer,
        server_info,
    ),
)
