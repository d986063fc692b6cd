"""How long a server waits for a client, on a clock that only the test moves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from directory_indexer.server.middleware.connections import TimeoutConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

PATIENCE = TimeoutConnection.timeouts
HEAD = b"POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n"
WHOLE = b"GET /health HTTP/1.1\r\nHost: here\r\n\r\n"


class Timer:
    def __init__(self, moment: float, callback: Callable[[], None]) -> None:
        self.moment = moment
        self.callback = callback

    def cancel(self) -> None:
        self.callback = lambda: None


class Clock:
    """As much of an event loop as a connection uses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []
        self.tasks: list[Coroutine[Any, Any, None]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, moment: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(Timer(moment, callback))
        return self.timers[-1]

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return self.call_at(self.now + seconds, callback)

    def create_task(self, task: Coroutine[Any, Any, None], **_: Any) -> asyncio.Future[None]:
        self.tasks.append(task)
        return asyncio.Future(loop=_LOOP)

    def advance(self, seconds: float) -> None:
        until = self.now + seconds
        while due := [timer for timer in self.timers if timer.moment <= until]:
            timer = min(due, key=lambda one: one.moment)
            self.timers.remove(timer)
            self.now = max(self.now, timer.moment)
            timer.callback()
        self.now = until

    def answer(self) -> None:
        """Let the application answer what has been asked."""
        for task in self.tasks:
            with pytest.raises(StopIteration):
                task.send(None)
        self.tasks.clear()


_LOOP = asyncio.new_event_loop()


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.is_open = True
        self.has_ended = False

    def write_eof(self) -> None:
        self.has_ended = True

    def write(self, data: Any) -> None:
        assert data is not None

    def abort(self) -> None:
        self.is_open = False

    def close(self) -> None:
        self.is_open = False

    def is_closing(self) -> bool:
        return not self.is_open

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Server:
    def __init__(self, most: int | None = None, app: Any = None) -> None:
        self.clock = Clock()
        self._config = uvicorn.Config(
            app or _empty, http="h11", lifespan="off", log_config=None, limit_concurrency=most
        )
        self._state = ServerState()

    def connect(self) -> tuple[TimeoutConnection, Wire]:
        loop: Any = self.clock
        connection = TimeoutConnection(self._config, self._state, {}, loop)
        wire = Wire()
        connection.connection_made(wire)
        return connection, wire


async def _empty(_: Any, __: Any, send: Callable[[dict[str, Any]], Coroutine[Any, Any, None]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


async def _refusing(_: Any, __: Any, send: Callable[[dict[str, Any]], Coroutine[Any, Any, None]]) -> None:
    await send({"type": "http.response.start", "status": 413, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body"})


@pytest.fixture(autouse=True, scope="module")
def loop_is_closed() -> Any:
    yield
    _LOOP.close()


@pytest.mark.parametrize("sent", [b"", b"G", WHOLE[:-2]])
def test_a_head_that_does_not_come_ends_the_connection(sent: bytes) -> None:
    server = Server()
    connection, wire = server.connect()
    if sent:
        connection.data_received(sent)
    server.clock.advance(PATIENCE.head_seconds - 0.1)
    assert wire.is_open
    server.clock.advance(0.1)
    assert not wire.is_open


def test_a_head_that_comes_letter_by_letter_gets_no_more_time() -> None:
    server = Server()
    connection, wire = server.connect()
    for letter in WHOLE[:10]:
        connection.data_received(bytes([letter]))
        server.clock.advance(PATIENCE.head_seconds / 10)
    assert not wire.is_open


def test_the_next_head_of_a_connection_that_is_kept_has_to_come_in_time_too() -> None:
    server = Server()
    connection, wire = server.connect()
    connection.data_received(WHOLE)
    server.clock.advance(10 * PATIENCE.head_seconds)  # of the server itself
    server.clock.answer()
    connection.data_received(WHOLE[:-2])
    server.clock.advance(PATIENCE.head_seconds - 0.1)
    assert wire.is_open
    server.clock.advance(0.1)
    assert not wire.is_open


def test_an_answer_may_take_as_long_as_it_takes() -> None:
    server = Server()
    connection, wire = server.connect()
    connection.data_received(HEAD % 2 + b"{}")
    server.clock.advance(100_000)
    assert wire.is_open
    server.clock.answer()


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_body_that_does_not_come_ends_the_connection_also_of_who_was_refused(*, is_answered: bool) -> None:
    server = Server()
    connection, wire = server.connect()
    connection.data_received(HEAD % 100_000)
    if is_answered:
        server.clock.answer()
    connection.data_received(b"{")
    server.clock.advance(PATIENCE.body_seconds)
    assert wire.is_open
    server.clock.advance(1)
    assert not wire.is_open
    if not is_answered:
        server.clock.answer()


def test_a_body_has_time_as_long_as_it_keeps_its_pace() -> None:
    server = Server()
    connection, wire = server.connect()
    connection.data_received(HEAD % 1_000_000)
    for _ in range(int(2 * PATIENCE.body_seconds)):
        connection.data_received(bytes(PATIENCE.body_bytes_per_second))
        server.clock.advance(1)
    assert wire.is_open
    for _ in range(int(2 * PATIENCE.body_seconds)):
        connection.data_received(bytes(PATIENCE.body_bytes_per_second // 4))
        server.clock.advance(1)
    assert not wire.is_open
    server.clock.answer()


def test_a_client_that_does_not_read_is_left() -> None:
    server = Server()
    connection, wire = server.connect()
    connection.data_received(WHOLE)
    connection.pause_writing()
    connection.resume_writing()
    server.clock.advance(PATIENCE.stalled_seconds)
    assert wire.is_open
    connection.pause_writing()
    server.clock.advance(PATIENCE.stalled_seconds)
    assert not wire.is_open
    connection.resume_writing()
    server.clock.answer()


def test_the_connection_that_waits_longest_gives_way_and_none_that_is_being_answered() -> None:
    server = Server(most=4)
    answered, answered_wire = server.connect()
    answered.data_received(WHOLE)
    wires: list[Wire] = []
    for _ in range(4):
        server.clock.advance(1)
        wires.append(server.connect()[1])
    assert [wire.is_open for wire in wires] == [False, False, True, True]
    assert answered_wire.is_open
    server.clock.answer()


def test_of_connections_that_wait_one_of_the_key_with_most_of_them_gives_way() -> None:
    server = Server(most=8)
    wires: dict[str, Wire] = {}
    for name, owner in (("b1", b"bob"), ("a1", b"ann"), ("a2", b"ann"), ("a3", b"ann"), ("x1", b""), ("x2", b"")):
        server.clock.advance(0.1)
        connection, wires[name] = server.connect()
        connection.owner = owner
    for name in ("x3", "x4", "x5", "x6"):
        server.clock.advance(0.1)
        _, wires[name] = server.connect()
    assert [name for name, wire in wires.items() if not wire.is_open] == ["a1", "x1", "x2"]


def _refused() -> tuple[Server, TimeoutConnection, Wire]:
    server = Server(app=_refusing)
    connection, wire = server.connect()
    connection.data_received(HEAD % 100_000_000)
    server.clock.answer()
    assert (wire.has_ended, wire.is_open) == (True, True)
    return server, connection, wire


def test_a_client_that_was_refused_has_time_to_read_the_answer_whatever_it_sends() -> None:
    server, connection, wire = _refused()
    for _ in range(8):
        server.clock.advance(PATIENCE.linger_seconds / 8 - 0.01)
        connection.data_received(bytes(1000))
        assert wire.is_open
    server.clock.advance(1)
    assert not wire.is_open


def test_of_a_client_that_was_refused_no_more_than_a_little_is_taken() -> None:
    _, connection, wire = _refused()
    connection.data_received(bytes(PATIENCE.linger_bytes))
    assert wire.is_open
    connection.data_received(b"x")
    assert not wire.is_open


def test_the_connection_of_a_client_that_was_refused_gives_way() -> None:
    server = Server(most=2, app=_refusing)
    connection, wire = server.connect()
    connection.data_received(HEAD % 100_000_000)
    server.clock.answer()
    server.connect()
    assert not wire.is_open
