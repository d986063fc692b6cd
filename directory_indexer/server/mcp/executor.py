"""Table of the MCP tools, in the order in which clients see them, and their execution in thread pools."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from directory_indexer.api.contents import ConvertedText, GrepAnswer, OutlineAnswer, TextAnswer
from directory_indexer.api.hits import SearchAnswer
from directory_indexer.api.operations import Operation, Pool
from directory_indexer.api.runs import Run
from directory_indexer.api.symbols import LocateAnswer, SymbolAnswer
from directory_indexer.core.errors import BusyError
from directory_indexer.core.rights import Right
from directory_indexer.integrations.converting.converter import is_url
from directory_indexer.server.index_jobs import IndexJob, percent_done
from directory_indexer.server.mcp import arguments
from directory_indexer.server.mcp.answer import Answer, ServerAnswer
from directory_indexer.server.mcp.index_tool import index_answer, is_ended
from directory_indexer.server.mcp.tools import Tools
from directory_indexer.storage.documents.runs import Origin, RunRecord

_POLL_SECONDS = 0.25
_N_THREADS_OF_POOL: Final = {Pool.SEARCH: 8, Pool.READ: 16, Pool.WRITE: 8, Pool.NETWORK: 4, Pool.WORKER: 4}
_MAX_QUEUED = 100
"""This many searches take about two seconds; further calls are rejected at once rather than after a long wait."""

_Value = TypeVar("_Value")
_Context = TypeVar("_Context")
_Arguments = TypeVar("_Arguments")

Progress: TypeAlias = Callable[[float, str], Awaitable[None]]
"""Reports the progress of a call to the client, in percent and in words."""


class ToolExecutor:
    """The tools, and the queues in which they and the operations of the API run."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self._queues = {pool: anyio.CapacityLimiter(n_threads) for pool, n_threads in _N_THREADS_OF_POOL.items()}

    @property
    def n_waiting(self) -> int:
        """The number of queued calls."""
        return sum(queue.statistics().tasks_waiting for queue in self._queues.values())

    async def run(self, pool: Pool, work: Callable[[], _Value]) -> _Value:
        """Run work in a thread.

        Raises:
            BusyError: too many calls are queued.
        """
        queue = self._queues[pool]
        if queue.statistics().tasks_waiting >= _MAX_QUEUED:
            raise BusyError("the server is busy: too many requests are waiting")
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=queue)

    async def answer(self, operation: Operation[_Context], context: _Context, call: Any) -> Any:
        """Return the answer of an operation.

        Raises:
            DirIndexError: the operation failed, or too many calls are queued.
        """
        if operation.pool is not None:
            return await self.run(operation.pool, lambda: operation.run(context, call))
        answer = operation.run(context, call)
        return await answer if inspect.isawaitable(answer) else answer


class Caller(NamedTuple):
    """The caller of a tool: the executor, how to report progress to it, and which collections it may use."""

    executor: ToolExecutor
    progress: Progress
    grants_collection: Callable[[str], bool]
    origin: Origin = Origin.SERVER
    """The origin under which it stops index runs."""


Tool: TypeAlias = Operation[Caller]


async def convert(caller: Caller, call: arguments.ConvertArguments) -> Answer:
    """Convert a document, which may have to be fetched first."""
    pool = Pool.NETWORK if is_url(call.source) else Pool.SEARCH
    return await caller.executor.run(pool, lambda: caller.executor.tools.convert_to_text(call))


async def index(caller: Caller, call: arguments.IndexCall) -> Answer:
    """Start, join or stop an index run; a run is cancelled with the last call that waits for it."""
    executor = caller.executor
    index_tool = executor.tools.index
    if call.action is arguments.IndexAction.CANCEL:
        return await executor.run(Pool.WRITE, lambda: index_tool.cancel(call, by=caller.origin))
    if call.action is arguments.IndexAction.PAUSE:
        return await executor.run(Pool.WRITE, lambda: index_tool.pause(call, by=caller.origin))
    begin = index_tool.resume if call.action is arguments.IndexAction.RESUME else index_tool.start
    job = await executor.run(Pool.READ, lambda: begin(call))
    if not isinstance(job, IndexJob):
        return await _wait_for_run(caller, call, job)
    job.n_waiting += 1
    try:
        return await _wait_for_run(caller, call, job)
    except anyio.get_cancelled_exc_class():
        if job.n_waiting == 1:
            executor.tools.jobs.jobs_of(call.collection).cancel(job)
        raise
    finally:
        job.n_waiting -= 1


async def _wait_for_run(caller: Caller, call: arguments.IndexCall, job: IndexJob | RunRecord) -> Answer:
    """Report progress until the run has ended or the time is up, then return its state."""
    deadline = anyio.current_time() + call.wait_seconds
    reported_percent = 0.0
    jobs = caller.executor.tools.jobs.jobs_of(call.collection)
    while True:
        result = await caller.executor.run(Pool.READ, lambda: jobs.run_state_of(job))
        if is_ended(result) or anyio.current_time() >= deadline:
            if isinstance(job, IndexJob):
                job.is_reported = is_ended(result)
            return index_answer(result)
        if percent_done(result) > reported_percent:
            reported_percent = percent_done(result)
            await caller.progress(reported_percent, index_answer(result).text.partition("\n")[0])
        await anyio.sleep(min(_POLL_SECONDS, max(deadline - anyio.current_time(), 0.0)))


def _tool_function(method: Callable[[Tools, _Arguments], Answer]) -> Callable[[Caller, _Arguments], Answer]:
    return lambda caller, call: method(caller.executor.tools, call)


TOOLS: Final[tuple[Tool, ...]] = (
    Operation(
        "search",
        "Search files",
        "Find passages in notes, documents and code by meaning and by words. Use it first, before listing or reading "
        "files. Put several questions into one call.",
        arguments.SearchCall,
        SearchAnswer,
        _tool_function(Tools.search),
        Pool.SEARCH,
    ),
    Operation(
        "grep",
        "Find all lines",
        "Find every matching line in all formats, exact and complete. Use it for known names and phrases, and to miss "
        "nothing.",
        arguments.GrepCall,
        GrepAnswer,
        _tool_function(Tools.grep),
        Pool.SEARCH,
    ),
    Operation(
        "symbol",
        "Find a symbol",
        "Find where a name of code is defined, who calls it and which tests use it. Use it instead of grep for names.",
        arguments.SymbolArguments,
        SymbolAnswer,
        _tool_function(Tools.symbol),
        Pool.SEARCH,
    ),
    Operation(
        "locate",
        "Locate a problem",
        "List the files and lines to read for an issue, stack trace, failing test or diff. Use it first to fix one.",
        arguments.LocateArguments,
        LocateAnswer,
        _tool_function(Tools.locate),
        Pool.SEARCH,
    ),
    Operation(
        "outline",
        "Outline a file",
        "List symbols, headings or pages of a file with lines and tokens, or the tree of a directory. Use it before "
        "long files.",
        arguments.OutlineCall,
        OutlineAnswer,
        _tool_function(Tools.outline),
        Pool.READ,
    ),
    Operation(
        "get_content",
        "Read a file",
        "Read an indexed file of any format, or list a directory. Use it after search or grep, with path and "
        "start_line of a hit.",
        arguments.ContentArguments,
        TextAnswer,
        _tool_function(Tools.get_content),
        Pool.READ,
    ),
    Operation(
        "similar_files",
        "Find similar files",
        "Find files like one: related notes, duplicates, other implementations.",
        arguments.SimilarArguments,
        SearchAnswer,
        _tool_function(Tools.similar_files),
        Pool.SEARCH,
    ),
    Operation(
        "convert_to_text",
        "Convert to Markdown",
        "Convert an office file, PDF, mail, book or web page to Markdown. Use it where get_content loses tables.",
        arguments.ConvertArguments,
        ConvertedText,
        convert,
    ),
    Operation(
        "index",
        "Index directories",
        "Update the index of directories, or add one. Use it when files are missing or have changed. Runs in the "
        'background: while "running", call it again.',
        arguments.IndexCall,
        Run,
        index,
        required_right=Right.WRITE,
    ),
    Operation(
        "server_info",
        "Show what is indexed",
        "List indexed directories, collections and the index run. Use it to learn what can be searched.",
        arguments.InfoArguments,
        ServerAnswer,
        lambda caller, call: caller.executor.tools.server_info(call, caller.grants_collection),
        Pool.READ,
    ),
)
