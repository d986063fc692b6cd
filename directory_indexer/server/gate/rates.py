"""Rate limits and concurrency budgets of keys."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from directory_indexer.server.gate.problems import BUSY, TOO_MANY, Problem

_Counted = TypeVar("_Counted")


class Rate(NamedTuple):
    """A sustained rate of requests per second, and a burst size."""

    a_second: float
    at_once: int


class Buckets:
    """A token bucket for each key: every request takes a token, and tokens are refilled over time."""

    def __init__(self, rate: Rate, *, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def take(self, digest: bytes) -> int:
        """Take a token of a key; return 0, or the seconds until there is one."""
        now = self._clock()
        n_tokens, updated_at = self._buckets.get(digest, (float(self._rate.at_once), now))
        n_tokens = min(self._rate.at_once, n_tokens + (now - updated_at) * self._rate.a_second)
        has_token = n_tokens >= 1
        self._buckets[digest] = (n_tokens - has_token, now)
        return 0 if has_token else math.ceil((1 - n_tokens) / self._rate.a_second)


class Stage(StrEnum):
    """The stages of a request in progress."""

    BODY = "body"
    """The body is incomplete."""

    ANSWER = "answer"
    STREAM = "stream"
    """An event stream until the client disconnects."""


MOST_OF_KEY: Final = {Stage.BODY: 64, Stage.ANSWER: 64, Stage.STREAM: 100}
"""Fewer responses than calls may be queued, and in total fewer than the connection limit."""

MOST_BYTES_OF_KEY: Final = 536_870_912
MOST_ANSWERS: Final = 300
"""The responses in progress of all keys together; beyond it, only keys with few of them get another one."""

_FEW: Final = 8


class Budgets:
    """The requests in progress of each key by stage, and the bytes of their bodies."""

    def __init__(self) -> None:
        self._n_requests: Counter[tuple[bytes, Stage]] = Counter()
        self._n_bytes: Counter[bytes] = Counter()
        self._n_answers = 0

    def refusal(self, digest: bytes, stage: Stage) -> Problem | None:
        """Return the problem if a key may not have another request in a stage."""
        number = self._n_requests[digest, stage]
        if number >= MOST_OF_KEY[stage]:
            return TOO_MANY
        is_full = stage is Stage.ANSWER and self._n_answers >= MOST_ANSWERS
        return BUSY if is_full and number >= _FEW else None

    def add(self, digest: bytes, stage: Stage, number: int) -> None:
        """Add requests of a key, or remove them by a negative number."""
        _add(self._n_requests, (digest, stage), number)
        self._n_answers += number if stage is Stage.ANSWER else 0

    def add_bytes(self, digest: bytes, number: int) -> Problem | None:
        """Add bytes of a body, or remove them by a negative number; return the problem if its key has too many."""
        _add(self._n_bytes, digest, number)
        return TOO_MANY if self._n_bytes[digest] > MOST_BYTES_OF_KEY else None


class Claim:
    """The share of a request in the budget of its key."""

    def __init__(self, budgets: Budgets, digest: bytes) -> None:
        self._budgets = budgets
        self._digest = digest
        self._stage: Stage | None = None
        self._n_bytes = 0

    def enter(self, stage: Stage) -> Problem | None:
        """Move to a stage, or return the problem if there is no room."""
        if stage is self._stage:
            return None
        if refusal := self._budgets.refusal(self._digest, stage):
            return refusal
        self._leave()
        self._stage = stage
        self._budgets.add(self._digest, stage, 1)
        return None

    def add_bytes(self, number: int) -> Problem | None:
        """Add bytes of the body; return the problem if there is no room."""
        self._n_bytes += number
        return self._budgets.add_bytes(self._digest, number)

    def release(self) -> None:
        """Remove the request and its body from the budget."""
        self._leave()
        self._budgets.add_bytes(self._digest, -self._n_bytes)

    def _leave(self) -> None:
        if self._stage is not None:
            self._budgets.add(self._digest, self._stage, -1)


def _add(counts: Counter[_Counted], counted: _Counted, number: int) -> None:
    counts[counted] += number
    if not counts[counted]:  # otherwise the counters would grow with the number of keys
        del counts[counted]
