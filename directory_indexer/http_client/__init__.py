"""Outgoing HTTP: one bounded client for documents of the web, OCR services and embedding services.

Here are typed access to their untrusted JSON, failures of requests, and retries. Values of JSON that are missing or of
another type count as empty. A service's Retry-After applies to all requests to it, from any thread. Refused requests
are never repeated.
"""

from __future__ import annotations

import contextlib
import email.utils
import json
import math
import random
import re
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from directory_indexer.core.errors import ProviderError
from directory_indexer.telemetry import spans


def parse_object(content: bytes) -> dict[str, Any] | None:
    """Parse a JSON object, or return None."""
    try:
        value = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def object_in(value: object, name: str) -> dict[str, Any]:
    """Return the object with a name."""
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else {}


def items_in(value: object, name: str) -> list[dict[str, Any]]:
    """Return the objects in the list with a name."""
    return [item for item in values_in(value, name) if isinstance(item, dict)]


def values_in(value: object, name: str) -> list[Any]:
    """Return the list with a name."""
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, list) else []


def text_in(value: object, name: str) -> str:
    """Return the text with a name, without invalid characters."""
    member = value.get(name) if isinstance(value, dict) else None
    return _whole(member) if isinstance(member, str) else ""


def number_in(value: object, name: str) -> float:
    """Return the number with a name."""
    return as_number(value.get(name)) if isinstance(value, dict) else 0.0


def count_in(value: object, name: str) -> int:
    """Return the whole number with a name, within bounds."""
    return max(0, min(int(number_in(value, name)), _LARGEST))


def as_number(value: object) -> float:
    """Return a value as a finite number, or 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST
    return float(value) if is_number and math.isfinite(value) else 0.0  # type: ignore[arg-type]  # checked above


def _whole(text: str) -> str:
    """Replace lone surrogates by question marks, and drop control characters."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CONTROLS)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_LARGEST: Final = 1 << 40
_CONTROLS: Final = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r\x85"}


Answer = TypeVar("Answer")


class FailureKind(StrEnum):
    """Kinds of failure, by remedy."""

    UNREACHABLE = "unreachable"  # the connection is not accepted
    THROTTLED = "throttled"  # rate limit or quota
    BROKEN = "broken"  # server error or incomplete answer
    SLOW = "slow"  # timeout
    INVALID = "invalid"  # unexpected answer
    REFUSED = "refused"  # rejected request


class RequestError(Exception):
    """One failed request; a message of the client continues the name of the service."""

    def __init__(
        self, kind: FailureKind, message: str, *, hint: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.retry_after = retry_after


MAX_ATTEMPTS: Final = {
    FailureKind.UNREACHABLE: 4,
    FailureKind.THROTTLED: 8,
    FailureKind.BROKEN: 4,
    FailureKind.SLOW: 2,
    FailureKind.INVALID: 2,
    FailureKind.REFUSED: 1,
}
"""Maximum attempts: the waits between eight of them add up to two minutes, more than a usual rate limit."""

MAX_WAIT_SECONDS: Final = 120.0
MAX_SECONDS: Final = 600.0
"""Time limit of all requests for one page; there are other pages."""


class RetryTiming(NamedTuple):
    """Clock, sleep and randomness, injectable for tests."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    today: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random
    must_stop: Callable[[], bool] = lambda: False

    def check(self) -> None:
        """Raise if the run is to stop.

        Raises:
            ProviderError: the run is to stop.
        """
        if self.must_stop():
            raise ProviderError("the run stops without waiting for a page")


class RetryPolicy:
    """Makes requests to one service with retries; threads share it, including the time to wait."""

    def __init__(self, timing: RetryTiming) -> None:
        self._timing = timing
        self._not_before = -math.inf

    def deadline(self) -> float:
        """Return the deadline of a page that is started now."""
        return self._timing.clock() + MAX_SECONDS

    def retry(self, send: Callable[[], Answer], *, until: float) -> Answer:
        """Make a request with retries.

        Raises:
            RequestError: it fails permanently, or no retry is possible before `until`.
            ProviderError: the run is to stop.
        """
        n_attempts = 0
        while True:
            # Another thread may have extended the wait meanwhile.
            while (remaining := self._not_before - self._timing.clock()) > 0:
                self.pause(remaining, until=until)
            n_attempts += 1
            try:
                with spans.span("ask reader"):
                    return send()
            except RequestError as error:
                wait = self._wait_after(error, n_attempts)
                if n_attempts >= MAX_ATTEMPTS[error.kind] or wait > MAX_WAIT_SECONDS:
                    raise
                if error.kind is FailureKind.THROTTLED:
                    self._not_before = max(self._not_before, self._timing.clock() + wait)
                    wait = 0.0
            self.pause(wait, until=until)

    def pause(self, seconds: float, *, until: float) -> None:
        """Wait for some seconds.

        Raises:
            RequestError: the wait would end after `until`.
            ProviderError: the run is to stop.
        """
        end = self._timing.clock() + seconds
        if end > until:
            raise RequestError(FailureKind.SLOW, f"did not read a page within {MAX_SECONDS:.0f} s")
        with spans.span("wait for reader") if seconds else spans.NOTHING:
            while (remaining := end - self._timing.clock()) > 0:
                self._timing.check()
                self._timing.sleep(min(remaining, _STEP_SECONDS))
        self._timing.check()

    def requested_wait(self, headers: Mapping[str, str], error: object) -> float | None:
        """Return the wait that a service requests: in a header, as seconds or a date, or in its error details."""
        seconds = retry_after_seconds(headers, today=self._timing.today)
        if seconds is not None:
            return seconds
        delays = (_DELAY.fullmatch(text_in(detail, "retryDelay")) for detail in items_in(error, "details"))
        return next((float(delay[1]) for delay in delays if delay), None)

    def _wait_after(self, error: RequestError, n_attempts: int) -> float:
        if error.retry_after is not None:
            return error.retry_after
        chance = self._timing.chance
        return backoff_seconds(n_attempts, first=_FIRST_WAIT_SECONDS, longest=MAX_WAIT_SECONDS, chance=chance)


def retry_after_seconds(headers: Mapping[str, str], *, today: Callable[[], float] = time.time) -> float | None:
    """Parse `Retry-After`, in seconds or as a date."""
    value = headers.get("retry-after", "").strip()[:_MAX_VALUE_CHARS]
    if _SECONDS.fullmatch(value):
        return float(value)
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        return max(email.utils.parsedate_to_datetime(value).timestamp() - today(), 0.0)
    return None


def backoff_seconds(
    n_attempts: int, *, first: float, longest: float = math.inf, chance: Callable[[], float] = random.random
) -> float:
    """Return the exponential backoff, with jitter of up to a half, so that clients do not retry in lockstep."""
    return min(first * 2.0 ** (n_attempts - 1), longest) * (1 - chance() / 2)


_FIRST_WAIT_SECONDS: Final = 2.0
_STEP_SECONDS: Final = 0.2
_MAX_VALUE_CHARS: Final = 64
_SECONDS: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_DELAY: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
