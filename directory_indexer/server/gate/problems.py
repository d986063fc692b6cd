"""Problems: the uniform error responses of the HTTP server."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.server.gate.visits import request_id
from directory_indexer.wire.errors import HttpError
from directory_indexer.wire.objects import object_of, timestamp


class Problem(NamedTuple):
    """An error response; `error` is a code for programs, `detail` a sentence for people.

    `retry_seconds` is the Retry-After header, `allowed` the Allow header; `closes` means that the connection cannot be
    reused.
    """

    status: int
    error: str
    detail: str
    retry_seconds: int | None = None
    allowed: str = ""
    closes: bool = False

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the response."""
        headers = [(b"content-type", b"application/json")]
        if self.retry_seconds is not None:
            headers.append((b"retry-after", str(self.retry_seconds).encode()))
        if self.allowed:
            headers.append((b"allow", self.allowed.encode()))
        if self.closes:
            headers.append((b"connection", b"close"))
        if self.status == 401:  # noqa: PLR2004 - Unauthorized
            headers.append((b"www-authenticate", b'Bearer realm="dirindex"'))
        return headers

    def body(self) -> bytes:
        """Return the body of the response."""
        return json.dumps(object_of(self.record())).encode()

    def record(self) -> HttpError:
        """Return the record of the problem, with the current time and request id."""
        return HttpError(self.error, self.detail, self.status, timestamp(time.time()) or "", request_id.get())


class RefusedError(Exception):
    """A request is rejected with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.error)
        self.problem = problem


def too_large(most: int) -> Problem:
    """Return the problem of a body that is too large."""
    return Problem(413, "too_large", f"the body has more than {most:,} bytes")


MISFRAMED = Problem(
    400, "invalid_request", "a body has a Content-Length, or comes in chunks of HTTP/1.1, but not both", closes=True
)
MISDIRECTED = Problem(421, "misdirected", "the Host header names none of the names of this server")
FOREIGN_ORIGIN = Problem(403, "foreign_origin", "web pages of another origin may not ask")
NO_KEY = Problem(401, "unauthorized", "give a key that is valid: Authorization: Bearer KEY")
TOO_OFTEN = Problem(429, "too_many_requests", "this key asks too often")
TOO_MANY = Problem(429, "too_many_requests", "this key has as much in hand as it may", retry_seconds=1)
GUESSING = Problem(429, "too_many_requests", "too many keys from your address were none; no key is looked at now")
BUSY = Problem(503, "busy", "the server has as much to do as it can take", retry_seconds=1)
KEYS_UNREADABLE = Problem(503, "unavailable", "the keys cannot be read now; the log of the server says why", 2)
CLOSING = Problem(503, "closing", "the server is about to end", retry_seconds=5)
BUG = Problem(500, "internal", "a bug: the log of the server has more under the id of this request")


def no_such_path() -> Problem:
    """Return the problem of an unknown path."""
    return Problem(404, "not_found", "there is nothing at this path; /openapi.json tells what there is")


def no_such_method(methods: Sequence[str]) -> Problem:
    """Return the problem of an unsupported method of a path."""
    allowed = ", ".join(sorted(methods))
    return Problem(405, "method_not_allowed", f"this path is asked by {allowed}", allowed=allowed)


def no_collection(name: str) -> Problem:
    """Return the problem of an unknown collection, or of one that a key does not grant access to."""
    return Problem(404, "not_found", f"there is no collection '{name}'")


def no_right(name: str, needed: str) -> Problem:
    """Return the problem of a key without the needed right."""
    return Problem(403, "forbidden", f"the key '{name}' does not have the right '{needed}'")
