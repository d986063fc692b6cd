"""Limits how often something may happen."""

import time


class TokenBucket:
    """Allow `rate` events a second on average, and `burst` of them at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._tokens, self._updated = float(burst), time.monotonic()

    def try_acquire(self) -> bool:
        """Take one token if there is one."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._updated) * self._rate)
        self._updated = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
