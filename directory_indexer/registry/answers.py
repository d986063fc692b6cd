"""Answers that were given to requests with a name, so that a request sent again is answered as it was."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from directory_indexer.registry.store import Registry

KEPT_SECONDS: Final = 86_400.0
"""So long an answer can be had again."""


class GivenAnswer(NamedTuple):
    """An answer, and a digest of the request that it answers."""

    request: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes


class GivenAnswers:
    """The answers in a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def get(self, caller: bytes, name: str) -> GivenAnswer | None:
        """Look for the answer that a caller got to a request of this name."""
        if not self._registry.exists():
            return None
        with self._registry.reading() as connection:
            row = connection.raw.execute(
                "SELECT request, status, headers, body FROM answers WHERE caller = ? AND name = ? AND at > ?",
                (caller, name, time.time() - KEPT_SECONDS),
            ).fetchone()
        return None if row is None else GivenAnswer(row[0], row[1], json.loads(row[2]), row[3])

    def keep(self, caller: bytes, name: str, answer: GivenAnswer) -> None:
        """Keep an answer, and forget those that are too old."""
        now = time.time()
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM answers WHERE at <= ?", (now - KEPT_SECONDS,))
            connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (caller, name, answer.request, answer.status, json.dumps(dict(answer.headers)), answer.body, now),
            )

    def forget(self) -> int:
        """Forget all of them; tell how many."""
        with self._registry.writing() as connection:
            return connection.execute("DELETE FROM answers").rowcount
