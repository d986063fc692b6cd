"""The gate: one way in for MCP and REST alike.

In this order, and each before more is done than needed: by which name the server was called and from which web page,
whose key it is, what that allows, how often it asks, and whether there is room. How long a client may take to send its
request is checked before any of it (`patience`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect

from directory_indexer.errors import BusyError, StoreError
from directory_indexer.lazy import lazily
from directory_indexer.registry.keys import Key, Right
from directory_indexer.server.gate import problems
from directory_indexer.server.gate.callers import Callers
from directory_indexer.server.gate.logs import log_request
from directory_indexer.server.gate.metrics import Metrics
from directory_indexer.server.gate.problems import Problem
from directory_indexer.server.gate.rates import Buckets, Budgets, Claim, Stage
from directory_indexer.server.gate.visits import Connection, Place, Visit, connection_of, id_of_request, request_id
from directory_indexer.telemetry import spans
from directory_indexer.telemetry.spans import Span, Word

with lazily:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"))

_GONE = 499
"""What servers note of clients that went away in the middle of their request."""

_log = logging.getLogger("dirindex.serve")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the gate goes by."""

    place_of: Callable[[str, str], Place]
    """What a path and a method stand for."""

    callers: Callers
    buckets: Buckets
    answers_to: Callable[[str], bool]
    """Tells whether a Host header names this server."""

    trusts: Callable[[str], bool]
    """Tells whether pages of an origin may ask."""

    budgets: Budgets = field(default_factory=Budgets)
    metrics: Metrics = field(default_factory=Metrics)


class Gate:
    """Let through to `app` what may pass, and answer the rest; whatever happens, in one form and with an id."""

    def __init__(self, app: ASGIApp, rules: Rules, *, clock: Callable[[], float]) -> None:
        self._app = app
        self._rules = rules
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = _header(scope, b"x-request-id")
        visit = Visit(id_of_request(given), self._rules.place_of(scope["path"], scope["method"]))
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        token = request_id.set(visit.request_id)
        exchange = _Exchange(visit, connection_of(scope), receive, send)
        metrics, began = self._rules.metrics, self._clock()
        metrics.n_in_hand += 1
        with _span_of(visit, method, scope) as span:
            visit.span = spans.traceparent()
            try:
                await self._answer(scope, exchange)
            finally:
                metrics.n_in_hand -= 1
                exchange.release()
                seconds = self._clock() - began
                metrics.count(visit, method=method, seconds=seconds)
                log_request(visit, method=method, seconds=seconds)
                span.note(status=visit.status, bytes_in=visit.bytes_in, bytes_out=visit.bytes_out)
                if visit.refusal:
                    span.note(refusal=Word(visit.refusal))
                request_id.reset(token)

    async def _answer(self, scope: Scope, exchange: _Exchange) -> None:
        visit = exchange.visit
        try:
            exchange.refusal = self._refusal(scope, exchange)
            if exchange.refusal is None:
                visit.enter(scope)
                await self._app(scope, exchange.receive, exchange.send)
        except BusyError:
            exchange.refusal = problems.BUSY
        except ClientDisconnect:  # there is nobody to answer, unless it was the gate that went away
            visit.status = visit.status or _GONE
        except Exception:
            if exchange.refusal is None:
                _log.exception("a request failed because of a bug")
                exchange.refusal = problems.BUG
            if exchange.has_begun:
                raise
        if exchange.refusal is not None and not exchange.has_begun:
            await exchange.refuse(exchange.refusal)

    def _refusal(self, scope: Scope, exchange: _Exchange) -> Problem | None:
        visit = exchange.visit
        if _is_misframed(scope):
            return problems.MISFRAMED
        if visit.place.is_probe:
            return self._too_long(scope, visit.place)
        return (
            self._misdirection(scope)
            or self._too_long(scope, visit.place)
            or self._unfit_key(scope, visit)
            or self._no_room(exchange)
        )

    def _misdirection(self, scope: Scope) -> Problem | None:
        if not self._rules.answers_to(_header(scope, b"host")):
            return problems.MISDIRECTED
        return None if self._rules.trusts(_header(scope, b"origin")) else problems.FOREIGN_ORIGIN

    @staticmethod
    def _too_long(scope: Scope, place: Place) -> Problem | None:
        length = _header(scope, b"content-length")
        is_too_long = length.isdigit() and int(length) > place.longest_body
        return problems.too_large(place.longest_body) if is_too_long else None

    def _unfit_key(self, scope: Scope, visit: Visit) -> Problem | None:
        if visit.place.needs is None:
            return None
        try:
            caller = self._rules.callers.caller(scope["headers"], address=_address(scope))
        except StoreError:
            _log.exception("the keys cannot be read")
            return problems.KEYS_UNREADABLE
        if isinstance(caller, int):
            return problems.GUESSING._replace(retry_seconds=caller)
        visit.key = caller
        return problems.NO_KEY if caller is None else self._excess(caller, visit.place)

    def _excess(self, key: Key, place: Place) -> Problem | None:
        """Tell what a key asks for that it may not have, or not now."""
        if place.needs is not None and not key.may(place.needs):
            return problems.no_right(key.name, place.needs)
        if place.collection is not None and not key.reaches(place.collection):
            return problems.no_collection(place.collection)
        seconds = self._rules.buckets.take(key.digest)
        return problems.TOO_OFTEN._replace(retry_seconds=seconds) if seconds else None

    def _no_room(self, exchange: _Exchange) -> Problem | None:
        key, place = exchange.visit.key, exchange.visit.place
        if key is None or place.needs is Right.METRICS:
            return None
        return exchange.claim_room(self._rules.budgets, key.digest)


class _Exchange:
    """A request and its answer as they go by: both are counted, and an answer gets what all answers have."""

    def __init__(self, visit: Visit, connection: Connection | None, receive: Receive, send: Send) -> None:
        self.visit = visit
        self.refusal: Problem | None = None
        self.has_begun = False
        self._connection = connection
        self._claim: Claim | None = None
        self._receive = receive
        self._send = send

    @property
    def _awaits_body(self) -> bool:
        return self._connection is not None and self._connection.awaits_body

    def claim_room(self, budgets: Budgets, digest: bytes) -> Problem | None:
        """Count the request in the budget of its key, at the stage of its body until all of that has come."""
        if self._connection is not None:
            self._connection.owner = digest
        self._claim = Claim(budgets, digest)
        return self._claim.enter(Stage.BODY if self._awaits_body else self._stage_of_answer)

    def release(self) -> None:
        """Count the request out."""
        if self._claim is not None:
            self._claim.release()

    async def receive(self) -> Message:
        """Take a piece of the request; one that has become too large ends here, whatever it said of its length."""
        if self.refusal is None:
            message = await self._receive()
            n_bytes = len(message.get("body", b""))
            self.visit.bytes_in += n_bytes
            self.refusal = self._excess(n_bytes, has_ended=not message.get("more_body", False))
        return message if self.refusal is None else {"type": "http.disconnect"}

    def _excess(self, n_bytes: int, *, has_ended: bool) -> Problem | None:
        longest = self.visit.place.longest_body
        if self.visit.bytes_in > longest:
            return problems.too_large(longest)
        if self._claim is None:
            return None
        if refusal := self._claim.add_bytes(n_bytes):
            return refusal
        return self._claim.enter(self._stage_of_answer) if has_ended else None

    @property
    def _stage_of_answer(self) -> Stage:
        return Stage.STREAM if self.visit.place.is_stream else Stage.ANSWER

    async def send(self, message: Message) -> None:
        """Pass on a piece of the answer, unless another one was decided upon before it began."""
        if self.refusal is not None and not self.has_begun:
            return
        if message["type"] == "http.response.start":
            self.has_begun = True
            self.visit.status = message["status"]
            message = {**message, "headers": [*message["headers"], *self._headers(message["headers"])]}
        self.visit.bytes_out += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, problem: Problem) -> None:
        """Answer with a problem."""
        self.visit.refusal = problem.error
        self.refusal = None
        body = problem.body()
        headers = [*problem.headers(), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def _headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        names = {name.lower() for name, _ in given}
        added = [
            (b"x-request-id", self.visit.request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
        ]
        if self._awaits_body:  # to answer the next request, the server would have to take the rest of this one
            added.append((b"connection", b"close"))
        return [header for header in added if header[0] not in names]


def _span_of(visit: Visit, method: str, scope: Scope) -> AbstractContextManager[Span]:
    """Take note of an answer, as a part of what the client does if it says so; probes ask too often for that."""
    if visit.place.is_probe:
        return spans.NOTHING
    route = visit.place.template
    return spans.answer_span(
        f"{method} {route}",
        within=_header(scope, b"traceparent"),
        method=Word(method),
        route=Word(route),
        request_id=Word(visit.request_id),
    )


def _is_misframed(scope: Scope) -> bool:
    """Whether a proxy may have seen another end of the body: a length beside chunks, or chunks in HTTP/1.0."""
    names = {name for name, _ in scope["headers"]}
    return b"transfer-encoding" in names and (b"content-length" in names or scope.get("http_version") == "1.0")


def _address(scope: Scope) -> str:
    """Give where a request comes from; empty where the server does not know, as behind a socket of this machine."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _header(scope: Scope, wanted: bytes) -> str:
    """Give a header that may be there once; several of them are as good as a wrong one."""
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]
    return "\0".join(values)
