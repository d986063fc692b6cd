"""How often each key may ask."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


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
