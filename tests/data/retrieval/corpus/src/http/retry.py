"""Sends a request again after failures that pass."""

import random

RETRYABLE = {429, 502, 503, 504}


def backoff_delays(base: float, cap: float, attempts: int):
    """Yield the seconds to wait before each attempt: exponential with full jitter."""
    for attempt in range(attempts):
        yield random.uniform(0, min(cap, base * 2**attempt))


def should_retry(status: int, method: str) -> bool:
    """Only what may be repeated without harm is sent again."""
    return status in RETRYABLE and method in {"GET", "PUT", "DELETE"}
