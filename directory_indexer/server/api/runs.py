"""`/api/v1/index` and `/api/v1/operations`: index runs, started here or by anyone, and how they stand."""

from __future__ import annotations

from collections import OrderedDict

import anyio

from directory_indexer.docstore.runs import Origin, RunRecord
from directory_indexer.errors import NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.server.api.arguments import IndexCall, OperationCall
from directory_indexer.server.api.operations import Reply, Services
from directory_indexer.server.arguments import IndexArguments
from directory_indexer.server.gate.problems import Problem, RefusedError
from directory_indexer.server.jobs import Job
from directory_indexer.server.tools import Tools, is_ended
from directory_indexer.wire.runs import Run, RunList

with lazily:
    from directory_indexer.app import App


PATH = "/api/v1/operations"
_MOST_RUNS = 50
_MOST_JOBS = 1000
_POLL_SECONDS = 0.25
_HAS_ENDED = Problem(409, "has_ended", "this operation has ended already")


class IndexRuns:
    """The index runs by their ids: one that was started here has its id before it begins, and keeps it."""

    def __init__(self, app: App, tools: Tools) -> None:
        self._app = app
        self._tools = tools
        self._started: OrderedDict[str, Job] = OrderedDict()

    def start(self, call: IndexCall) -> Run:
        """Start a run, or join the one that does the same."""
        asked = IndexArguments(call.path)
        job = self._tools.start_index(asked)
        if isinstance(job, Job) and is_ended(self._tools.state_of(job)):
            job.is_told = True  # nobody asks for that one any more
            job = self._tools.start_index(asked)
        if isinstance(job, Job):
            self._started[job.id] = job
            while len(self._started) > _MOST_JOBS:
                self._started.popitem(last=False)
        return self._state(job)

    def all(self) -> tuple[Run, ...]:
        """Give the newest runs of all processes, newest first; before them those that have not begun."""
        records = self._app.status.runs(_MOST_RUNS)
        jobs = list(self._started.values())
        begun = {job.id for job in jobs for record in records if job.is_of(record)}
        waiting = [job for job in reversed(jobs) if job.id not in begun]
        known = [next((job for job in jobs if job.is_of(record)), record) for record in records]
        return tuple(map(self._state, [*waiting, *known]))

    def state(self, operation_id: str) -> Run:
        """Tell how a run stands.

        Raises:
            NotIndexedError: there is none of this id.
        """
        return self._state(self._find(operation_id))

    def cancel(self, operation_id: str) -> Run:
        """Ask a run to stop at the end of its batch, whichever client started it.

        Raises:
            NotIndexedError: there is none of this id.
            NotStoppableError: it was started in a terminal.
            RefusedError: it has ended.
        """
        found = self._find(operation_id)
        if is_ended(self._tools.state_of(found)):
            raise RefusedError(_HAS_ENDED)
        if isinstance(found, Job):
            self._tools.jobs.cancel(found)
        else:
            self._app.run_control.stop(found, by=Origin.SERVER)
        return self._state(found)

    def _find(self, operation_id: str) -> Job | RunRecord:
        job = self._started.get(operation_id)
        records = [] if job else self._app.status.runs(_MOST_RUNS)
        found = job or next((record for record in records if _name(record) == operation_id), None)
        if found is None:
            raise NotIndexedError(f"there is no operation '{operation_id}'")
        return found

    def _state(self, run: Job | RunRecord) -> Run:
        name = run.id if isinstance(run, Job) else _name(run)
        state = self._tools.state_of(run)
        return state._replace(id=name, joined=None, counts=None, next_step=None)


def start(services: Services, call: IndexCall) -> Reply:
    """Start an index run, and say where to ask how it stands."""
    run = services.runs.start(call)
    return Reply(run, 202, {"Location": f"{PATH}/{run.id}"})


def operations(services: Services, _: object) -> RunList:
    """List the newest operations."""
    return RunList(services.runs.all())


async def operation(services: Services, call: OperationCall) -> Run:
    """Tell how an operation stands, at once or when it has ended."""
    deadline = anyio.current_time() + call.wait
    while True:
        run = await services.desk.quickly(lambda: services.runs.state(call.operation_id))
        left = deadline - anyio.current_time()
        if is_ended(run) or left <= 0 or services.is_ending():
            return run
        await anyio.sleep(min(_POLL_SECONDS, left))


def cancel(services: Services, call: OperationCall) -> Run:
    """Ask an operation to stop."""
    return services.runs.cancel(call.operation_id)


def _name(record: RunRecord) -> str:
    return f"run-{record.id}"
