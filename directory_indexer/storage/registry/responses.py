"""Idempotency: stored responses by idempotency key, so that a repeated request gets the same response."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_intact_rows,
    parse_mapping,
    parse_stored,
    parse_text,
)
from directory_indexer.storage.registry.store import Registry

RETENTION_SECONDS: Final = 86_400.0
"""The lifetime of a response."""


class StoredResponse(NamedTuple):
    """A response, and a digest of its request."""

    request: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes


def parse_response(row: Sequence[Any]) -> StoredResponse:
    """Parse the columns of a row."""
    request, status, headers, body = row
    if not (isinstance(request, bytes) and isinstance(body, bytes) and isinstance(status, int) and 100 <= status < 600):  # noqa: PLR2004 - as HTTP has them
        raise DamagedValueError("answers.body")
    return StoredResponse(request, status, parse_stored("answers.headers", _parse_headers, headers), body)


def _parse_headers(stored: object) -> dict[str, str]:
    headers = parse_mapping(stored)
    if not all(_HEADER_NAME.fullmatch(f"{name}: {parse_text(value)}") for name, value in headers.items()):
        raise ValueError(headers)
    return headers


RESPONSE_COLUMNS: Final = "request, status, headers, body"
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9-]+: [\x20-\x7e]*")


class StoredResponses:
    """The stored responses of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def get(self, caller: bytes, name: str) -> StoredResponse | None:
        """Return the response that a caller got to a request with this name."""
        query = f"SELECT {RESPONSE_COLUMNS} FROM answers WHERE caller = ? AND name = ? AND at > ?"  # noqa: S608 - constants
        rows = self._registry.rows(query, caller, name, time.time() - RETENTION_SECONDS)
        return next(parse_intact_rows(parse_response, rows), None)

    def keep(self, caller: bytes, name: str, answer: StoredResponse) -> None:
        """Store a response, and delete expired ones."""
        now = time.time()
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM answers WHERE at <= ?", (now - RETENTION_SECONDS,))
            connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (caller, name, answer.request, answer.status, json.dumps(dict(answer.headers)), answer.body, now),
            )

    def forget(self) -> int:
        """Delete all responses; return their number."""
        return self._registry.change("DELETE FROM answers")
