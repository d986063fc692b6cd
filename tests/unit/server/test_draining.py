"""What becomes of requests in flight when a server ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from directory_indexer.server.middleware.connections import GracefulShutdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Message, Receive, Scope, Send

PATIENCE_SECONDS = 60
_AT_ONCE = 0.01


class _Application:
    """Answers when it is allowed to."""

    def __init__(self, *, begins_early: bool = False) -> None:
        self.began = anyio.Event()
        self.may_answer = anyio.Event()
        self._begins_early = begins_early

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": []}
        if self._begins_early:
            await send(start)
        self.began.set()
        await self.may_answer.wait()
        if not self._begins_early:
            await send(start)
        await send({"type": "http.response.body", "body": b""})


async def _request(app: Callable[..., Any], statuses: list[int | None], method: str = "POST") -> None:
    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> Message:
        return {"type": "http.request"}

    await app({"type": "http", "method": method, "headers": []}, receive, send)


def _is_stream(scope: Scope) -> bool:
    return bool(scope["method"] == "GET")


async def _end(drain: GracefulShutdown) -> None:
    await drain.finish_requests(within=2 * PATIENCE_SECONDS)


def test_a_request_in_flight_is_answered_and_the_next_one_refused() -> None:
    async def scenario() -> list[int | None]:
        app = _Application()
        drain, statuses = GracefulShutdown(app, is_exempt=_is_stream), list[int | None]()
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_request, drain, statuses)
                await app.began.wait()
                tasks.start_soon(_end, drain)
                await anyio.wait_all_tasks_blocked()
                await _request(drain, statuses)
                app.may_answer.set()
        return statuses

    assert anyio.run(scenario) == [503, 200]


@pytest.mark.parametrize(("begins_early", "statuses"), [(False, [503]), (True, [200])])
def test_a_request_that_takes_too_long_is_refused_unless_its_answer_has_begun(
    *, begins_early: bool, statuses: list[int | None]
) -> None:
    async def scenario() -> list[int | None]:
        app = _Application(begins_early=begins_early)
        drain, given = GracefulShutdown(app, is_exempt=_is_stream), list[int | None]()
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_request, drain, given)
                await app.began.wait()
                await drain.finish_requests(within=_AT_ONCE)
        return given

    assert anyio.run(scenario) == statuses


def test_a_stream_that_a_client_listens_to_is_not_waited_for() -> None:
    async def scenario() -> None:
        app = _Application()
        drain = GracefulShutdown(app, is_exempt=_is_stream)
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_request, drain, [], "GET")
                await app.began.wait()
                await drain.finish_requests(within=2 * PATIENCE_SECONDS)
                tasks.cancel_scope.cancel()

    anyio.run(scenario)
