"""Request context: the id, the route and the key of a request."""

from __future__ import annotations

import contextvars
import re
import secrets
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from directory_indexer.docstore.runs import Origin
from directory_indexer.registry.keys import Key, Right

_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SCOPE = "dirindex.visit"
CONNECTION: Final = "dirindex.connection"
"""The key of the connection in the state of a request."""

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the current request; empty if there is none."""


class Place(NamedTuple):
    """A route: what a path and a method need.

    `template` is the path with placeholders, `needs` the right that a key must have; None where no key is needed.
    `collection` is the collection of the route, where that does not depend on arguments. The Host header of a probe is
    not checked, since probes do not know the name. A stream lasts as long as the client stays connected.
    """

    template: str
    needs: Right | None
    longest_body: int
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
class Visit:
    """The context of a request."""

    request_id: str
    route: Place
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
        return self.key is not None and self.key.may(Right.WRITE)

    def reaches(self, collection: str) -> bool:
        """Whether the key grants access to a collection."""
        return self.key is not None and self.key.reaches(collection)

    def enter(self, scope: MutableMapping[str, Any]) -> None:
        """Store the context in the ASGI scope."""
        scope[_SCOPE] = self


def connection_of(scope: MutableMapping[str, Any]) -> Connection | None:
    """Return the connection of a request, if there is one."""
    connection: Connection | None = scope.get("state", {}).get(CONNECTION)
    return connection


def origin_of(key: Key | None) -> Origin:
    """Return the origin under which the owner of a key stops index runs: admins may also stop those of terminals.

    So may the owner at the page, who is the local user.
    """
    may_stop_all = key is not None and (key.may(Right.ADMIN) or key.may(Right.OWNER))
    return Origin.TERMINAL if may_stop_all else Origin.SERVER


def visit_of(scope: MutableMapping[str, Any]) -> Visit:
    """Return the context of a request."""
    context = scope[_SCOPE]
    assert isinstance(context, Visit)  # noqa: S101 - the guard has stored it
    return context


def id_of_request(client_id: str) -> str:
    """Return the request id of the client if it is safe for logs, or else a random one."""
    return client_id if _SAFE_ID.fullmatch(client_id) else secrets.token_hex(16)
