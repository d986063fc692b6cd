"""Execution of tools in worker threads, with separate queues for searches, reads, writes, fetches and worker processes.

So no kind of call blocks another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from directory_indexer.converting.converter import is_url
from directory_indexer.docstore.runs import Origin, RunRecord
from directory_indexer.errors import BusyError
from directory_indexer.server.answer import Answer
from directory_indexer.server.arguments import ConvertArguments, IndexAction, IndexArguments, InfoArguments
from directory_indexer.server.index_verbs import index_answer, is_ended
from directory_indexer.server.jobs import Job
from directory_indexer.server.run_results import percent
from directory_indexer.server.tools import Tools

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


class Desk:
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

    async def slowly(self, work: Callable[[], _Value]) -> _Value:
        """Run work that may take seconds.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._slow)

    async def quickly(self, work: Callable[[], _Value]) -> _Value:
        """Run work that takes milliseconds.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._quick)

    async def patiently(self, work: Callable[[], _Value]) -> _Value:
        """Run work that writes, and may wait for other writers.

        Raises:
            BusyError: too many calls are queued.
        """
        return await _run_in_queue(work, self._patient)

    async def remotely(self, work: Callable[[], _Value]) -> _Value:
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


ToolRun: TypeAlias = Callable[[Desk, Any, Caller], Awaitable[Answer]]
"""The implementation of a tool."""


def slowly(tool: Callable[[Tools, Any], Answer]) -> ToolRun:
    """Return the runner of a tool that searches."""

    async def run(desk: Desk, call: Any, _: Caller) -> Answer:
        return await desk.slowly(lambda: tool(desk.tools, call))

    return run


def quickly(tool: Callable[[Tools, Any], Answer]) -> ToolRun:
    """Return the runner of a tool that reads."""

    async def run(desk: Desk, call: Any, _: Caller) -> Answer:
        return await desk.quickly(lambda: tool(desk.tools, call))

    return run


async def convert(desk: Desk, call: ConvertArguments, _: Caller) -> Answer:
    """Convert a document, which may have to be fetched first."""
    run = desk.remotely if is_url(call.source) else desk.slowly
    return await run(lambda: desk.tools.convert_to_text(call))


async def server_info(desk: Desk, call: InfoArguments, caller: Caller) -> Answer:
    """Return what is indexed."""
    return await desk.quickly(lambda: desk.tools.server_info(call, caller.reaches))


async def index(desk: Desk, call: IndexArguments, caller: Caller) -> Answer:
    """Start, join or stop an index run; a run is cancelled when the only call that waits for it is."""
    verbs = desk.tools.index
    if call.action is IndexAction.CANCEL:
        return await desk.patiently(lambda: verbs.cancel(call, by=caller.origin))
    if call.action is IndexAction.PAUSE:
        return await desk.patiently(lambda: verbs.pause(call, by=caller.origin))
    begin = verbs.resume if call.action is IndexAction.RESUME else verbs.start
    job = await desk.quickly(lambda: begin(call))
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


async def _wait(desk: Desk, call: IndexArguments, job: Job | RunRecord, progress: Progress) -> Answer:
    """Report progress until the run has ended or the time is up, then return its state."""
    deadline = anyio.current_time() + call.wait_seconds
    reported_percent = 0.0
    while True:
        result = await desk.quickly(lambda: desk.tools.jobs.of(call.collection).state_of(job))
        if is_ended(result) or anyio.current_time() >= deadline:
            if isinstance(job, Job):
                job.is_reported = is_ended(result)
            return index_answer(result)
        if percent(result) > reported_percent:
            reported_percent = percent(result)
            await progress(reported_percent, index_answer(result).text.partition("\n")[0])
        await anyio.sleep(min(_POLL_SECONDS, max(deadline - anyio.current_time(), 0.0)))
