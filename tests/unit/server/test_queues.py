"""Calls wait for their turn, and not more of them than can be answered in time."""

from __future__ import annotations

import threading
from typing import cast

import anyio
import pytest

from directory_indexer.api.operations import Pool
from directory_indexer.core.errors import BusyError
from directory_indexer.server.mcp.executor import ToolExecutor
from directory_indexer.server.mcp.tool_results import format_error_with_next_call
from directory_indexer.server.mcp.tools import Tools
from directory_indexer.server.rest.messages import problem_of_error

_PATIENCE_SECONDS = 60


def test_who_comes_when_the_queue_is_full_is_told_so_at_once_and_others_are_answered() -> None:
    may_end = threading.Event()
    answered: list[bool] = []

    async def scenario() -> None:
        desk = ToolExecutor(cast("Tools", None))

        async def ask() -> None:
            answered.append(await desk.run(Pool.SEARCH, lambda: may_end.wait(_PATIENCE_SECONDS)))

        async with anyio.create_task_group() as tasks:
            for _ in range(8 + 100):
                tasks.start_soon(ask)
            while desk.n_waiting < 100:
                await anyio.wait_all_tasks_blocked()
            with pytest.raises(BusyError):
                await desk.run(Pool.SEARCH, lambda: None)
            assert await desk.run(Pool.READ, lambda: "quick") == "quick"
            may_end.set()

    anyio.run(scenario)
    assert answered == [True] * 108


def test_both_kinds_of_clients_are_told_to_come_back() -> None:
    error = BusyError("the server is busy: too many requests are waiting")
    assert "repeat the call" in format_error_with_next_call(error)
    problem = problem_of_error(error)
    assert (problem.status, problem.error) == (503, "busy")
    assert problem.retry_seconds
