"""The budget of each key: how often it may ask, and how much of it is in hand at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from directory_indexer.server.gate.problems import BUSY, TOO_MANY, Problem

_Counted = TypeVar("_Counted")


class Rate(NamedTuple):
    """So many requests a second in the long run, and so many at once."""

    a_second: float
    at_once: int


class Buckets:
    """A token bucket for each key: every request takes a token, and they come back with time."""

    def __init__(self, rate: Rate, *, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def take(self, digest: bytes) -> int:
        """Take a token for the key of a digest; where there is none, tell in how many seconds there will be."""
        now = self._clock()
        left, then = self._buckets.get(digest, (float(self._rate.at_once), now))
        left = min(self._rate.at_once, left + (now - then) * self._rate.a_second)
        has_one = left >= 1
        self._buckets[digest] = (left - has_one, now)
        return 0 if has_one else math.ceil((1 - left) / self._rate.a_second)


class Stage(StrEnum):
    """The stages of a request in hand, by what it waits for."""

    BODY = "body"
    """The rest of its body, from its client."""

    ANSWER = "answer"
    STREAM = "stream"
    """Its client to go away."""


MOST_OF_KEY: Final = {Stage.BODY: 64, Stage.ANSWER: 64, Stage.STREAM: 100}
"""Fewer answers than calls may wait for their turn, and all together fewer than there may be connections."""

MOST_BYTES_OF_KEY: Final = 536_870_912
MOST_ANSWERS: Final = 300
"""The answers of all keys together; when there are more, only keys with few of them get another one."""

_FEW: Final = 8


class Budgets:
    """The requests of each key in hand, by stage, and the bytes of their bodies."""

    def __init__(self) -> None:
        self._n_requests: Counter[tuple[bytes, Stage]] = Counter()
        self._n_bytes: Counter[bytes] = Counter()
        self._n_answers = 0

    def refusal(self, digest: bytes, stage: Stage) -> Problem | None:
        """Return why a key may not have another request at a stage."""
        number = self._n_requests[digest, stage]
        if number >= MOST_OF_KEY[stage]:
            return TOO_MANY
        is_full = stage is Stage.ANSWER and self._n_answers >= MOST_ANSWERS
        return BUSY if is_full and number >= _FEW else None

    def add(self, digest: bytes, stage: Stage, number: int) -> None:
        """Count requests of a key in, or out by a negative number."""
        _add(self._n_requests, (digest, stage), number)
        self._n_answers += number if stage is Stage.ANSWER else 0

    def add_bytes(self, digest: bytes, number: int) -> Problem | None:
        """Count bytes of a body in, or out by a negative number; return why its key may not have so many."""
        _add(self._n_bytes, digest, number)
        return TOO_MANY if self._n_bytes[digest] > MOST_BYTES_OF_KEY else None


class Claim:
    """The part that a request takes of the budget of its key."""

    def __init__(self, budgets: Budgets, digest: bytes) -> None:
        self._budgets = budgets
        self._digest = digest
        self._stage: Stage | None = None
        self._n_bytes = 0

    def enter(self, stage: Stage) -> Problem | None:
        """Leave the stage before and count at this one, or return why there is no room."""
        if stage is self._stage:
            return None
        if refusal := self._budgets.refusal(self._digest, stage):
            return refusal
        self._leave()
        self._stage = stage
        self._budgets.add(self._digest, stage, 1)
        return None

    def add_bytes(self, number: int) -> Problem | None:
        """Count bytes of the body, or return why there is no room."""
        self._n_bytes += number
        return self._budgets.add_bytes(self._digest, number)

    def release(self) -> None:
        """Count the request out, with its body."""
        self._leave()
        self._budgets.add_bytes(self._digest, -self._n_bytes)

    def _leave(self) -> None:
        if self._stage is not None:
            self._budgets.add(self._digest, self._stage, -1)


def _add(counts: Counter[_Counted], counted: _Counted, number: int) -> None:
    counts[counted] += number
    if not counts[counted]:  # there may be any number of keys over time
        del counts[counted]
