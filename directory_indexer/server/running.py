"""How tools run: searches, short questions, writes and what is fetched wait in queues of their own.

So none holds up another.
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
_MOST_WAITING = 100
"""So many searches take about two seconds: who comes then is told so at once, and not after a long while."""

_Value = TypeVar("_Value")

Progress: TypeAlias = Callable[[float, str], Awaitable[None]]
"""Tells a client how far a call is, in percent and in words."""


class Caller(NamedTuple):
    """Who calls a tool: how to tell how far it is, and which collections there are for whoever it is."""

    progress: Progress
    reaches: Callable[[str], bool]
    origin: Origin = Origin.SERVER
    """As who it stops index runs."""


class Desk:
    """The tools with the queues before them."""

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
        """Count what waits for its turn."""
        return sum(one.statistics().tasks_waiting for one in self._queues)

    async def slowly(self, work: Callable[[], _Value]) -> _Value:
        """Do what may take seconds.

        Raises:
            BusyError: too much waits already.
        """
        return await _in_turn(work, self._slow)

    async def quickly(self, work: Callable[[], _Value]) -> _Value:
        """Do what takes milliseconds.

        Raises:
            BusyError: too much waits already.
        """
        return await _in_turn(work, self._quick)

    async def patiently(self, work: Callable[[], _Value]) -> _Value:
        """Do what writes, and may wait for others who do.

        Raises:
            BusyError: too much waits already.
        """
        return await _in_turn(work, self._patient)

    async def remotely(self, work: Callable[[], _Value]) -> _Value:
        """Do what waits for a server on the web, which may take a minute over every answer.

        Raises:
            BusyError: too much waits already.
        """
        return await _in_turn(work, self._remote)

    async def elsewhere(self, work: Callable[[], _Value]) -> _Value:
        """Do what another process works at, such as drawing a page.

        Raises:
            BusyError: too much waits already.
        """
        return await _in_turn(work, self._elsewhere)


async def _in_turn(work: Callable[[], _Value], limiter: anyio.CapacityLimiter) -> _Value:
    if limiter.statistics().tasks_waiting >= _MOST_WAITING:
        raise BusyError("the server has as much to do as it can take")
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)


ToolRun: TypeAlias = Callable[[Desk, Any, Caller], Awaitable[Answer]]
"""How a tool answers its arguments."""


def slowly(tool: Callable[[Tools, Any], Answer]) -> ToolRun:
    """Run a tool that searches."""

    async def run(desk: Desk, call: Any, _: Caller) -> Answer:
        return await desk.slowly(lambda: tool(desk.tools, call))

    return run


def quickly(tool: Callable[[Tools, Any], Answer]) -> ToolRun:
    """Run a tool that reads."""

    async def run(desk: Desk, call: Any, _: Caller) -> Answer:
        return await desk.quickly(lambda: tool(desk.tools, call))

    return run


async def convert(desk: Desk, call: ConvertArguments, _: Caller) -> Answer:
    """Convert a document, which may have to be fetched before."""
    in_turn = desk.remotely if is_url(call.source) else desk.slowly
    return await in_turn(lambda: desk.tools.convert_to_text(call))


async def server_info(desk: Desk, call: InfoArguments, caller: Caller) -> Answer:
    """Tell what is indexed."""
    return await desk.quickly(lambda: desk.tools.server_info(call, caller.reaches))


async def index(desk: Desk, call: IndexArguments, caller: Caller) -> Answer:
    """Start, join or stop an index run; when the only call that waits for one is cancelled, so is the run."""
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
    """Answer when the run has ended, or when the time is up; meanwhile, say how far it is."""
    deadline = anyio.current_time() + call.wait_seconds
    told = 0.0
    while True:
        result = await desk.quickly(lambda: desk.tools.jobs.of(call.collection).state_of(job))
        if is_ended(result) or anyio.current_time() >= deadline:
            if isinstance(job, Job):
                job.is_told = is_ended(result)
            return index_answer(result)
        if percent(result) > told:
            told = percent(result)
            await progress(told, index_answer(result).text.partition("\n")[0])
        await anyio.sleep(min(_POLL_SECONDS, max(deadline - anyio.current_time(), 0.0)))
