"""One request as the gate sees it: its id, what it asks for, and by whose key it came."""

from __future__ import annotations

import contextvars
import re
import secrets
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from directory_indexer.docstore.runs import Origin
from directory_indexer.registry.keys import Key, Right

_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SCOPE = "dirindex.visit"
CONNECTION: Final = "dirindex.connection"
"""The name of the connection in the state of a request."""

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the request that is being answered; empty where none is."""


class Place(NamedTuple):
    """What a path and a method stand for.

    `template` is the path with names for what varies, `needs` the right to ask for it; None where no key is needed.
    `collection` is the one that all of it is about, where the path alone tells. A probe is not even asked by which name
    it calls this machine, for probes do not know it. A stream is only listened to, for as long as the client likes.
    """

    template: str
    needs: Right | None
    longest_body: int
    is_probe: bool = False
    collection: str | None = None
    is_stream: bool = False


class Connection(Protocol):
    """The connection of a request, as far as the gate knows it."""

    owner: bytes
    """The digest of the key of its latest request."""

    @property
    def awaits_body(self) -> bool:
        """Whether a part of the body has yet to come."""


@dataclass(slots=True)
class Visit:
    """A request on its way."""

    request_id: str
    place: Place
    key: Key | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    status: int = 0
    refusal: str = ""
    """The name of what the gate refused it for."""

    span: str = ""
    """What names the span of its answer, of which parts are done elsewhere."""

    def may_write(self) -> bool:
        """Tell whether it came by a key that allows to change something."""
        return self.key is not None and self.key.may(Right.WRITE)

    def reaches(self, collection: str) -> bool:
        """Tell whether a collection is there for whoever sent it."""
        return self.key is not None and self.key.reaches(collection)

    def enter(self, scope: MutableMapping[str, Any]) -> None:
        """Be known to all that answers the request."""
        scope[_SCOPE] = self


def connection_of(scope: MutableMapping[str, Any]) -> Connection | None:
    """Return the connection that a request came by, where there is one."""
    connection: Connection | None = scope.get("state", {}).get(CONNECTION)
    return connection


def origin_of(key: Key | None) -> Origin:
    """Tell as who the owner of a key stops index runs: with the right to everything also those of terminals.

    So does the person at the page, whose terminals they are.
    """
    is_theirs = key is not None and (key.may(Right.ADMIN) or key.may(Right.OWNER))
    return Origin.TERMINAL if is_theirs else Origin.SERVER


def visit_of(scope: MutableMapping[str, Any]) -> Visit:
    """Give the visit that a request is."""
    visit = scope[_SCOPE]
    assert isinstance(visit, Visit)  # noqa: S101 - the gate has put it there
    return visit


def id_of_request(given: str) -> str:
    """Take the id that a client gives its request, if it can stand in a log; else draw one."""
    return given if _GIVEN.fullmatch(given) else secrets.token_hex(16)
