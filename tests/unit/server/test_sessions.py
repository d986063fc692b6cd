"""Which session gives way when there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from directory_indexer.server.middleware.limits import SessionLimit

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


class Protocol:
    """Opens numbered sessions, answers those that are open, and holds on to the requests that it is told to hold."""

    def __init__(self) -> None:
        self.open: list[bytes] = []
        self.owners: dict[bytes, str] = {}
        self.n_opened = 0
        self.held: dict[bytes, anyio.Event] = {}
        self.held_methods: dict[str, anyio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "http.request"
        session = dict(scope["headers"]).get(b"mcp-session-id")
        headers: list[tuple[bytes, bytes]] = []
        if session is None:
            self.n_opened += 1
            session = b"%d" % self.n_opened
            self.open.append(session)
            headers.append((b"mcp-session-id", session))
            self.owners[session] = scope["user"].access_token.client_id
        is_open = session in self.open and self.owners[session] == scope["user"].access_token.client_id
        status = 200 if is_open else 404
        if scope["method"] == "DELETE" and is_open:
            self.open.remove(session)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if scope["method"] == "GET" and is_open:
            await self.held[session].wait()
        elif scope["method"] in self.held_methods:
            await self.held_methods[scope["method"]].wait()


def _owner(scope: Scope) -> bytes:
    owner: bytes = scope["owner"]
    return owner


async def _ask(room: SessionLimit, session: bytes = b"", method: str = "POST", *, owner: bytes = b"ann") -> int:
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        statuses.append(message["status"])

    headers = [(b"host", b"127.0.0.1"), (b"content-length", b"3"), *([(b"mcp-session-id", session)] if session else [])]
    await room({"type": "http", "method": method, "headers": headers, "owner": owner}, receive, send)
    return statuses[0]


def test_the_session_that_was_idle_longest_gives_way() -> None:
    async def story() -> None:
        protocol = Protocol()
        room = SessionLimit(protocol, owner_of=_owner, most=3)
        for _ in range(3):
            await _ask(room)
        await _ask(room, b"1")
        await _ask(room)
        assert protocol.open == [b"1", b"3", b"4"]
        assert await _ask(room, b"2") == 404

    anyio.run(story)


def test_a_session_with_an_open_stream_does_not_give_way() -> None:
    async def story() -> None:
        protocol = Protocol()
        room = SessionLimit(protocol, owner_of=_owner, most=2)
        await _ask(room)
        protocol.held[b"1"] = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_ask, room, b"1", "GET")
            await anyio.wait_all_tasks_blocked()
            for _ in range(5):
                await _ask(room)
            assert protocol.open == [b"1", b"6"]
            protocol.held[b"1"].set()
        await _ask(room)
        await _ask(room)
        assert protocol.open == [b"7", b"8"]

    anyio.run(story)


def test_of_too_many_sessions_one_of_the_owner_with_most_of_them_gives_way() -> None:
    async def story() -> None:
        protocol = Protocol()
        room = SessionLimit(protocol, owner_of=_owner, most=4)
        await _ask(room, owner=b"bob")
        for _ in range(6):
            await _ask(room)
        assert protocol.open == [b"1", b"5", b"6", b"7"]
        assert await _ask(room, b"1", owner=b"bob") == 200

    anyio.run(story)


def test_a_session_is_not_there_for_who_did_not_open_it() -> None:
    async def story() -> None:
        protocol = Protocol()
        room = SessionLimit(protocol, owner_of=_owner, most=1)
        await _ask(room)
        for method in ("POST", "DELETE", "GET"):
            assert await _ask(room, b"1", method, owner=b"bob") == 404
        assert await _ask(room, b"1") == 200
        await _ask(room)
        assert protocol.open == [b"2"], "nor do those who ask for it keep it open, or take it out of the count"

    anyio.run(story)


def test_a_session_that_was_ended_takes_no_room() -> None:
    async def story() -> None:
        protocol = Protocol()
        room = SessionLimit(protocol, owner_of=_owner, most=2)
        await _ask(room)
        await _ask(room)
        await _ask(room, b"2", "DELETE")
        protocol.open.remove(b"1")  # its time was up
        assert await _ask(room, b"1") == 404
        await _ask(room)
        await _ask(room)
        assert protocol.open == [b"3", b"4"]

    anyio.run(story)


def test_a_request_that_comes_before_its_session_was_opened_to_the_end_does_not_count_as_less_than_none() -> None:
    async def story() -> None:
        protocol = Protocol()
        room = SessionLimit(protocol, owner_of=_owner, most=1)
        protocol.held[b"1"] = anyio.Event()
        protocol.held_methods["POST"] = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_ask, room)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(_ask, room, b"1", "GET")
            await anyio.wait_all_tasks_blocked()
            protocol.held_methods.pop("POST").set()
            await anyio.wait_all_tasks_blocked()
            await _ask(room)
            assert protocol.open == [b"1", b"2"]
            protocol.held[b"1"].set()
        await _ask(room)
        assert protocol.open == [b"3"]

    anyio.run(story)


def test_while_one_session_is_ended_another_that_is_used_again_or_ends_is_left_alone() -> None:
    async def story() -> None:
        protocol = Protocol()
        room = SessionLimit(protocol, owner_of=_owner, most=3)
        for _ in range(3):
            await _ask(room)
        room._most = 1  # noqa: SLF001 - all at once, what happens one after the other
        protocol.held[b"2"] = anyio.Event()
        protocol.held_methods["DELETE"] = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_ask, room)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(_ask, room, b"2", "GET")
            protocol.open.remove(b"3")
            assert await _ask(room, b"3") == 404
            await anyio.wait_all_tasks_blocked()
            protocol.held_methods.pop("DELETE").set()
            await anyio.wait_all_tasks_blocked()
            assert protocol.open == [b"2", b"4"]
            protocol.held[b"2"].set()

    anyio.run(story)
