"""Request context, which is the id, the route and the key of a request, and uniform error responses (problems)."""

from __future__ import annotations

import contextvars
import json
import re
import secrets
import time
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from directory_indexer.api import HttpError, format_timestamp, to_json_object
from directory_indexer.core.rights import Right
from directory_indexer.storage.documents.runs import Origin
from directory_indexer.storage.registry.keys import Key

_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CONTEXT_KEY = "dirindex.visit"
CONNECTION_KEY: Final = "dirindex.connection"
"""The key of the connection in the state of a request."""

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the current request; empty if there is none."""


class Route(NamedTuple):
    """The route of a request: its path template, the right that it requires, and its limits.

    `path_template` is the path with placeholders, `required_right` the right that a key must have; None where no key is
    needed. `collection` is the collection of the route, where that does not depend on arguments. The Host header of a
    probe is not checked, since probes do not know the name. A stream lasts as long as the client stays connected.
    """

    path_template: str
    required_right: Right | None
    max_body_bytes: int
    is_probe: bool = False
    collection: str | None = None
    is_stream: bool = False


class Connection(Protocol):
    """The connection of a request."""

    owner: bytes
    """The digest of the key of the latest request."""

    @property
    def awaits_body(self) -> bool:
        """Whether the body is incomplete."""


@dataclass(slots=True)
class RequestContext:
    """The context of a request."""

    request_id: str
    route: Route
    key: Key | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    status: int = 0
    refusal: str = ""
    """The error code of the problem, if the guard rejected the request."""

    span: str = ""
    """The traceparent of the span of the response, for child spans in other tasks."""

    def may_write(self) -> bool:
        """Whether the key has the right to write."""
        return self.key is not None and self.key.has_right(Right.WRITE)

    def grants_collection(self, collection: str) -> bool:
        """Whether the key grants access to a collection."""
        return self.key is not None and self.key.grants_collection(collection)

    def attach_to(self, scope: MutableMapping[str, Any]) -> None:
        """Store the context in the ASGI scope."""
        scope[_CONTEXT_KEY] = self


def connection_of(scope: MutableMapping[str, Any]) -> Connection | None:
    """Return the connection of a request, if there is one."""
    connection: Connection | None = scope.get("state", {}).get(CONNECTION_KEY)
    return connection


def origin_of(key: Key | None) -> Origin:
    """Return the origin under which the owner of a key stops index runs: admins may also stop those of terminals.

    So may the owner at the page, who is the local user.
    """
    may_stop_all = key is not None and (key.has_right(Right.ADMIN) or key.has_right(Right.OWNER))
    return Origin.TERMINAL if may_stop_all else Origin.SERVER


def context_of(scope: MutableMapping[str, Any]) -> RequestContext:
    """Return the context of a request."""
    context = scope[_CONTEXT_KEY]
    assert isinstance(context, RequestContext)  # noqa: S101 - the guard has stored it
    return context


def choose_request_id(client_id: str) -> str:
    """Return the request id of the client if it is safe for logs, or else a random one."""
    return client_id if _SAFE_ID.fullmatch(client_id) else secrets.token_hex(16)


class Problem(NamedTuple):
    """An error response; `error` is a code for programs, `detail` a sentence for people.

    `retry_seconds` is the Retry-After header, `allowed` the Allow header; `closes_connection` means that the connection
    cannot be reused.
    """

    status: int
    error: str
    detail: str
    retry_seconds: int | None = None
    allowed: str = ""
    closes_connection: bool = False

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the response."""
        headers = [(b"content-type", b"application/json")]
        if self.retry_seconds is not None:
            headers.append((b"retry-after", str(self.retry_seconds).encode()))
        if self.allowed:
            headers.append((b"allow", self.allowed.encode()))
        if self.closes_connection:
            headers.append((b"connection", b"close"))
        if self.status == 401:  # noqa: PLR2004 - Unauthorized
            headers.append((b"www-authenticate", b'Bearer realm="dirindex"'))
        return headers

    def body(self) -> bytes:
        """Return the body of the response."""
        return json.dumps(to_json_object(self.record())).encode()

    def record(self) -> HttpError:
        """Return the record of the problem, with the current time and request id."""
        return HttpError(self.error, self.detail, self.status, format_timestamp(time.time()) or "", request_id.get())


class RefusedError(Exception):
    """A request is rejected with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.error)
        self.problem = problem


def body_too_large(most: int) -> Problem:
    """Return the problem of a body that is too large."""
    return Problem(413, "too_large", f"the body has more than {most:,} bytes")


CONFLICTING_BODY_LENGTHS = Problem(
    400,
    "invalid_request",
    "a request has either a Content-Length or chunked encoding, not both",
    closes_connection=True,
)
UNKNOWN_HOST = Problem(421, "misdirected", "the Host header does not name this server")
FOREIGN_ORIGIN = Problem(403, "foreign_origin", "requests from other origins are not allowed")
KEY_REQUIRED = Problem(401, "unauthorized", "a valid key is required: Authorization: Bearer KEY")
RATE_EXCEEDED = Problem(429, "too_many_requests", "this key exceeds its request rate")
TOO_MANY_REQUESTS = Problem(429, "too_many_requests", "this key has too many requests in progress", retry_seconds=1)
TOO_MANY_WRONG_KEYS = Problem(429, "too_many_requests", "too many invalid keys from your address; try again later")
BUSY = Problem(503, "busy", "the server is busy: too many requests are waiting", retry_seconds=1)
KEYS_UNREADABLE = Problem(503, "unavailable", "the keys cannot be read; see the server log", 2)
CLOSING = Problem(503, "closing", "the server is shutting down", retry_seconds=5)
INTERNAL_ERROR = Problem(500, "internal", "internal error: see the server log for this request id")


def path_not_found() -> Problem:
    """Return the problem of an unknown path."""
    return Problem(404, "not_found", "nothing exists at this path; /openapi.json lists the operations")


def method_not_allowed(methods: Sequence[str]) -> Problem:
    """Return the problem of an unsupported method of a path."""
    allowed = ", ".join(sorted(methods))
    return Problem(405, "method_not_allowed", f"this path accepts {allowed}", allowed=allowed)


def collection_not_found(name: str) -> Problem:
    """Return the problem of an unknown collection, or of one that a key does not grant access to."""
    return Problem(404, "not_found", f"there is no collection '{name}'")


def missing_right(name: str, needed: str) -> Problem:
    """Return the problem of a key without the needed right."""
    return Problem(403, "forbidden", f"the key '{name}' does not have the right '{needed}'")
