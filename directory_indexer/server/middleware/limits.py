"""Rate limits and concurrency budgets of keys, and the limit of MCP sessions.

A session belongs to the key that opened it; at the limit, an idle one is closed. Clients often disconnect without
closing their sessions. The SDK keeps those for half an hour, and opens no new ones at its limit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from directory_indexer.core.lazy import lazily
from directory_indexer.server.middleware.request_context import BUSY, TOO_MANY_REQUESTS, Problem

with lazily:
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_Counted = TypeVar("_Counted")


class Rate(NamedTuple):
    """A sustained rate of requests per second, and a burst size."""

    per_second: float
    burst: int


class TokenBuckets:
    """A token bucket for each key: every request takes a token, and tokens are refilled over time."""

    def __init__(self, rate: Rate, *, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def take(self, digest: bytes) -> int:
        """Take a token of a key; return 0, or the seconds until there is one."""
        now = self._clock()
        n_tokens, updated_at = self._buckets.get(digest, (float(self._rate.burst), now))
        n_tokens = min(self._rate.burst, n_tokens + (now - updated_at) * self._rate.per_second)
        has_token = n_tokens >= 1
        self._buckets[digest] = (n_tokens - has_token, now)
        return 0 if has_token else math.ceil((1 - n_tokens) / self._rate.per_second)


class RequestStage(StrEnum):
    """The stages of a request in progress."""

    BODY = "body"
    """The body is incomplete."""

    ANSWER = "answer"
    STREAM = "stream"
    """An event stream until the client disconnects."""


MAX_REQUESTS_OF_KEY: Final = {RequestStage.BODY: 64, RequestStage.ANSWER: 64, RequestStage.STREAM: 100}
"""Fewer responses than calls may be queued, and in total fewer than the connection limit."""

MAX_BYTES_OF_KEY: Final = 536_870_912
MAX_ANSWERS: Final = 300
"""The responses in progress of all keys together; beyond it, only keys with few of them get another one."""

_ALWAYS_ALLOWED: Final = 8


class ConcurrencyBudgets:
    """Limits of the concurrent requests of each key, by stage, and of the bytes of their bodies."""

    def __init__(self) -> None:
        self._n_requests: Counter[tuple[bytes, RequestStage]] = Counter()
        self._n_bytes: Counter[bytes] = Counter()
        self._n_answers = 0

    def refusal(self, digest: bytes, stage: RequestStage) -> Problem | None:
        """Return the problem if a key may not have another request in a stage."""
        number = self._n_requests[digest, stage]
        if number >= MAX_REQUESTS_OF_KEY[stage]:
            return TOO_MANY_REQUESTS
        is_full = stage is RequestStage.ANSWER and self._n_answers >= MAX_ANSWERS
        return BUSY if is_full and number >= _ALWAYS_ALLOWED else None

    def adjust(self, digest: bytes, stage: RequestStage, number: int) -> None:
        """Add requests of a key, or remove them by a negative number."""
        _add_to_counter(self._n_requests, (digest, stage), number)
        self._n_answers += number if stage is RequestStage.ANSWER else 0

    def adjust_bytes(self, digest: bytes, number: int) -> Problem | None:
        """Add bytes of a body, or remove them by a negative number; return the problem if its key has too many."""
        _add_to_counter(self._n_bytes, digest, number)
        return TOO_MANY_REQUESTS if self._n_bytes[digest] > MAX_BYTES_OF_KEY else None


class BudgetClaim:
    """The part of its key's budget that a request uses."""

    def __init__(self, budgets: ConcurrencyBudgets, digest: bytes) -> None:
        self._budgets = budgets
        self._digest = digest
        self._stage: RequestStage | None = None
        self._n_bytes = 0

    def enter_stage(self, stage: RequestStage) -> Problem | None:
        """Move to a stage, or return the problem if there is no room."""
        if stage is self._stage:
            return None
        if refusal := self._budgets.refusal(self._digest, stage):
            return refusal
        self._leave_session()
        self._stage = stage
        self._budgets.adjust(self._digest, stage, 1)
        return None

    def add_bytes(self, number: int) -> Problem | None:
        """Add bytes of the body; return the problem if there is no room."""
        self._n_bytes += number
        return self._budgets.adjust_bytes(self._digest, number)

    def release(self) -> None:
        """Remove the request and its body from the budget."""
        self._leave_session()
        self._budgets.adjust_bytes(self._digest, -self._n_bytes)

    def _leave_session(self) -> None:
        if self._stage is not None:
            self._budgets.adjust(self._digest, self._stage, -1)


def _add_to_counter(counts: Counter[_Counted], counted: _Counted, number: int) -> None:
    counts[counted] += number
    if not counts[counted]:  # otherwise the counters would grow with the number of keys
        del counts[counted]


_SESSION_HEADER = b"mcp-session-id"
_NOT_FOUND = 404


@dataclass(slots=True)
class _Session:
    owner: bytes
    n_requests: int = 1
    """The number of requests in progress."""


class SessionLimit:
    """Closes a session of the owner with the most sessions when there are more than `most`, as its client could do.

    The one that has been idle longest is chosen; a session with a request or an open stream is not idle. For other
    callers than its owner a session does not exist.
    """

    def __init__(self, app: ASGIApp, *, most: int, owner_of: Callable[[Scope], bytes]) -> None:
        self._app = app
        self._most = most
        self._owner_of = owner_of
        self._sessions: dict[bytes, _Session] = {}
        """In the order of last use."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        owner = self._owner_of(scope)
        scope = {**scope, "user": _user(owner)}
        name = next((value for name, value in scope["headers"] if name == _SESSION_HEADER), None)
        if name is None:
            await self._answer_session_start(scope, receive, send)
            return
        session = self._sessions.get(name)
        if session is None or session.owner != owner:
            await self._app(scope, receive, send)
            return
        session.n_requests += 1
        try:
            await self._app(scope, receive, self._send_noting_close(name, scope, send))
        finally:
            self._leave_session(name)

    async def _answer_session_start(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened = b""

        async def noting(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start":
                opened = dict(message["headers"]).get(_SESSION_HEADER, b"")
                if opened:  # its client may send the next request before this response ends
                    self._sessions[opened] = _Session(self._owner_of(scope))
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if opened:
                self._leave_session(opened)
        if opened:
            await self._close_idle_session(scope, except_for=opened)

    def _leave_session(self, name: bytes) -> None:
        """Count a request as finished, unless its session has been closed in the meantime."""
        session = self._sessions.pop(name, None)
        if session is not None:
            session.n_requests -= 1
            self._sessions[name] = session

    def _send_noting_close(self, name: bytes, scope: Scope, send: Send) -> Send:
        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and (
                scope["method"] == "DELETE" or message["status"] == _NOT_FOUND
            ):
                self._sessions.pop(name, None)
            await send(message)

        return noting

    async def _close_idle_session(self, scope: Scope, *, except_for: bytes) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        # Chosen anew each time: while one is closed, others may be used or closed.
        while (name := self._session_to_close(except_for)) is not None:
            session = self._sessions.pop(name)
            ending = {"method": "DELETE", "headers": [*headers, (_SESSION_HEADER, name)], "user": _user(session.owner)}
            await self._app({**scope, **ending}, _receive_empty_body, _discard_message)

    def _session_to_close(self, except_for: bytes) -> bytes | None:
        if len(self._sessions) <= self._most:
            return None
        n_of_owner = Counter(session.owner for session in self._sessions.values())
        idle = [name for name, session in self._sessions.items() if not session.n_requests and name != except_for]
        return max(idle, key=lambda name: n_of_owner[self._sessions[name].owner], default=None)


def _user(owner: bytes) -> AuthenticatedUser:
    """Return the user that the SDK records for a session and requires for its later requests."""
    return AuthenticatedUser(AccessToken(token="", client_id=owner.hex(), scopes=[]))


async def _receive_empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard_message(_: Message) -> None:
    return None
