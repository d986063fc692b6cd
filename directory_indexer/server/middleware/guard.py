"""Request guard: the checks of all requests, for MCP and REST alike.

The order is: Host and Origin headers, key, rights of the key, rate limit, concurrency budget. The time that a client
takes to send its request is limited before all of them (`connections`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect

from directory_indexer.core.errors import BusyError, StoreError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.rights import Right
from directory_indexer.server.middleware import request_context
from directory_indexer.server.middleware.authentication import Authenticator
from directory_indexer.server.middleware.limits import BudgetClaim, ConcurrencyBudgets, RequestStage, TokenBuckets
from directory_indexer.server.middleware.monitoring import Metrics, log_request
from directory_indexer.server.middleware.request_context import (
    Connection,
    Problem,
    RequestContext,
    Route,
    choose_request_id,
    connection_of,
    request_id,
)
from directory_indexer.storage.registry.keys import Key
from directory_indexer.telemetry import spans
from directory_indexer.telemetry.spans import Span, Word

with lazily:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"))

_CLIENT_CLOSED_REQUEST = 499
"""The conventional status in logs for clients that disconnect before the response."""

_log = logging.getLogger("dirindex.serve")


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """The policy of the request guard."""

    route_of: Callable[[str, str], Route]
    """Returns the route of a path and a method."""

    authenticator: Authenticator
    buckets: TokenBuckets
    is_allowed_host: Callable[[str], bool]
    """Whether a Host header names this server."""

    is_allowed_origin: Callable[[str], bool]
    """Whether pages of an origin may send requests."""

    budgets: ConcurrencyBudgets = field(default_factory=ConcurrencyBudgets)
    metrics: Metrics = field(default_factory=Metrics)


class RequestGuard:
    """Forwards valid requests to `app` and rejects all others; every response has a request id."""

    def __init__(self, app: ASGIApp, rules: GuardPolicy, *, clock: Callable[[], float]) -> None:
        self._app = app
        self._rules = rules
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client_id = _header(scope, b"x-request-id")
        context = RequestContext(choose_request_id(client_id), self._rules.route_of(scope["path"], scope["method"]))
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        token = request_id.set(context.request_id)
        exchange = _Exchange(context, connection_of(scope), receive, send)
        metrics, began = self._rules.metrics, self._clock()
        metrics.n_in_hand += 1
        with _span_of(context, method, scope) as span:
            context.span = spans.traceparent()
            try:
                await self._answer(scope, exchange)
            finally:
                metrics.n_in_hand -= 1
                exchange.release()
                seconds = self._clock() - began
                metrics.count_request(context, method=method, seconds=seconds)
                log_request(context, method=method, seconds=seconds)
                span.note(status=context.status, bytes_in=context.bytes_in, bytes_out=context.bytes_out)
                if context.refusal:
                    span.note(refusal=Word(context.refusal))
                request_id.reset(token)

    async def _answer(self, scope: Scope, exchange: _Exchange) -> None:
        context = exchange.context
        try:
            exchange.refusal = self._find_problem(scope, exchange)
            if exchange.refusal is None:
                context.attach_to(scope)
                await self._app(scope, exchange.receive, exchange.send)
        except BusyError:
            exchange.refusal = request_context.BUSY
        except ClientDisconnect:  # there is no one to respond to, unless the guard itself caused it
            context.status = context.status or _CLIENT_CLOSED_REQUEST
        except Exception:
            if exchange.refusal is None:
                _log.exception("a request failed because of a bug")
                exchange.refusal = request_context.INTERNAL_ERROR
            if exchange.has_begun:
                raise
        if exchange.refusal is not None and not exchange.has_begun:
            await exchange.refuse(exchange.refusal)

    def _find_problem(self, scope: Scope, exchange: _Exchange) -> Problem | None:
        context = exchange.context
        if _is_misframed(scope):
            return request_context.CONFLICTING_BODY_LENGTHS
        if context.route.is_probe:
            return self._length_problem(scope, context.route)
        return (
            self._host_problem(scope)
            or self._length_problem(scope, context.route)
            or self._key_problem(scope, context)
            or self._budget_problem(exchange)
        )

    def _host_problem(self, scope: Scope) -> Problem | None:
        if not self._rules.is_allowed_host(_header(scope, b"host")):
            return request_context.UNKNOWN_HOST
        return None if self._rules.is_allowed_origin(_header(scope, b"origin")) else request_context.FOREIGN_ORIGIN

    @staticmethod
    def _length_problem(scope: Scope, route: Route) -> Problem | None:
        length = _header(scope, b"content-length")
        is_too_long = length.isdigit() and int(length) > route.max_body_bytes
        return request_context.body_too_large(route.max_body_bytes) if is_too_long else None

    def _key_problem(self, scope: Scope, context: RequestContext) -> Problem | None:
        if context.route.required_right is None:
            return None
        try:
            caller = self._rules.authenticator.caller(scope["headers"], address=_client_address(scope))
        except StoreError:
            _log.exception("the keys cannot be read")
            return request_context.KEYS_UNREADABLE
        if isinstance(caller, int):
            return request_context.TOO_MANY_WRONG_KEYS._replace(retry_seconds=caller)
        context.key = caller
        return request_context.KEY_REQUIRED if caller is None else self._limit_problem(caller, context.route)

    def _limit_problem(self, key: Key, route: Route) -> Problem | None:
        """Return the problem if a key lacks a right or exceeds its rate limit."""
        if route.required_right is not None and not key.has_right(route.required_right):
            return request_context.missing_right(key.name, route.required_right)
        if route.collection is not None and not key.grants_collection(route.collection):
            return request_context.collection_not_found(route.collection)
        seconds = self._rules.buckets.take(key.digest)
        return request_context.RATE_EXCEEDED._replace(retry_seconds=seconds) if seconds else None

    def _budget_problem(self, exchange: _Exchange) -> Problem | None:
        key, route = exchange.context.key, exchange.context.route
        if key is None or route.required_right is Right.METRICS:
            return None
        return exchange.claim_budget(self._rules.budgets, key.digest)


class _Exchange:
    """A request and its response in transit: bytes are counted, and common headers are added."""

    def __init__(self, context: RequestContext, connection: Connection | None, receive: Receive, send: Send) -> None:
        self.context = context
        self.refusal: Problem | None = None
        self.has_begun = False
        self._connection = connection
        self._claim: BudgetClaim | None = None
        self._receive = receive
        self._send = send

    @property
    def _awaits_body(self) -> bool:
        return self._connection is not None and self._connection.awaits_body

    def claim_budget(self, budgets: ConcurrencyBudgets, digest: bytes) -> Problem | None:
        """Count the request in the budget of its key, in the body stage until the body is complete."""
        if self._connection is not None:
            self._connection.owner = digest
        self._claim = BudgetClaim(budgets, digest)
        return self._claim.enter_stage(RequestStage.BODY if self._awaits_body else self._stage_of_answer)

    def release(self) -> None:
        """Remove the request from the budget of its key."""
        if self._claim is not None:
            self._claim.release()

    async def receive(self) -> Message:
        """Receive a part of the request; a body that is too large is cut off, whatever its Content-Length."""
        if self.refusal is None:
            message = await self._receive()
            n_bytes = len(message.get("body", b""))
            self.context.bytes_in += n_bytes
            self.refusal = self._limit_problem(n_bytes, has_ended=not message.get("more_body", False))
        return message if self.refusal is None else {"type": "http.disconnect"}

    def _limit_problem(self, n_bytes: int, *, has_ended: bool) -> Problem | None:
        longest = self.context.route.max_body_bytes
        if self.context.bytes_in > longest:
            return request_context.body_too_large(longest)
        if self._claim is None:
            return None
        if refusal := self._claim.add_bytes(n_bytes):
            return refusal
        return self._claim.enter_stage(self._stage_of_answer) if has_ended else None

    @property
    def _stage_of_answer(self) -> RequestStage:
        return RequestStage.STREAM if self.context.route.is_stream else RequestStage.ANSWER

    async def send(self, message: Message) -> None:
        """Send a part of the response, unless the request was rejected before the response began."""
        if self.refusal is not None and not self.has_begun:
            return
        if message["type"] == "http.response.start":
            self.has_begun = True
            self.context.status = message["status"]
            message = {**message, "headers": [*message["headers"], *self._headers(message["headers"])]}
        self.context.bytes_out += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, problem: Problem) -> None:
        """Respond with a problem."""
        self.context.refusal = problem.error
        self.refusal = None
        body = problem.body()
        headers = [*problem.headers(), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def _headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        names = {name.lower() for name, _ in headers}
        added = [
            (b"x-request-id", self.context.request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
        ]
        if self._awaits_body:  # before the next request, the server would have to read the rest of this one
            added.append((b"connection", b"close"))
        return [header for header in added if header[0] not in names]


def _span_of(context: RequestContext, method: str, scope: Scope) -> AbstractContextManager[Span]:
    """Return the span of a response, linked to that of the client if any; probes are too frequent for spans."""
    if context.route.is_probe:
        return spans.NOTHING
    route = context.route.path_template
    return spans.answer_span(
        f"{method} {route}",
        within=_header(scope, b"traceparent"),
        method=Word(method),
        route=Word(route),
        request_id=Word(context.request_id),
    )


def _is_misframed(scope: Scope) -> bool:
    """Whether a proxy may disagree about the end of the body: a length with chunks, or chunks in HTTP/1.0."""
    names = {name for name, _ in scope["headers"]}
    return b"transfer-encoding" in names and (b"content-length" in names or scope.get("http_version") == "1.0")


def _client_address(scope: Scope) -> str:
    """Return the address of the client; empty if it is unknown, as behind a Unix socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _header(scope: Scope, header: bytes) -> str:
    """Return a header that may occur once; repeated ones are joined to an invalid value."""
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == header]
    return "\0".join(values)
