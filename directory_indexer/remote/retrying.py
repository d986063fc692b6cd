"""Retries of failed requests, with exponential backoff, full jitter and a time limit."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from directory_indexer.errors import UnavailableError
from directory_indexer.remote.exchange import NoAnswerError, Request, Response
from directory_indexer.telemetry import spans

_RETRYABLE_STATUSES: Final = frozenset({408, 425, 429, 502, 503, 504})
_CONFLICT: Final = 409
_MAX_DIGITS: Final = 10
_BAD_GATEWAY: Final = 502
_IN_PROGRESS: Final = b'"in_hand"'
_UNREACHABLE: Final = b'"unreachable"'
_MAX_RETRY_AFTER: Final = 3600
"""Caps the Retry-After of a server; longer waits exceed the time limit of all retries anyway."""


class Backoff(NamedTuple):
    """Backoff policy: a random wait (full jitter) whose maximum doubles each time, within an overall time limit."""

    first_seconds: float = 0.5
    longest_seconds: float = 15.0
    patience_seconds: float = 180.0

    def most_seconds(self, n_failures: int) -> float:
        """Return the longest wait after `n_failures` failures."""
        return min(self.longest_seconds, self.first_seconds * 2.0 ** min(n_failures - 1, 20))


class Waiting(NamedTuple):
    """A wait before the next attempt: number of failures, duration and reason of the last failure."""

    n_failures: int
    seconds: float
    reason: str


class CancelledError(UnavailableError):
    """The caller no longer waits for the response."""


class Retrying:
    """Sends requests until they succeed; requests must be idempotent."""

    def __init__(
        self,
        send: Callable[[Request], Response],
        *,
        backoff: Backoff = Backoff(),  # noqa: B008 - it is a value
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._send = send
        self._backoff = backoff
        self._clock = clock
        self._chance = chance

    def answered(self, request: Request, *, pause: Callable[[Waiting], None]) -> Response:
        """Return the response to a request; `pause` waits between attempts, and may raise to give up.

        Raises:
            UnavailableError: the server stayed unavailable until the time limit, or its response is invalid.
        """
        give_up_at = self._clock() + self._backoff.patience_seconds
        n_failures = 0
        while True:
            response, reason = self._try_once(request)
            if response is not None and not is_away(response):
                return response
            n_failures += 1
            seconds = max(
                self._chance() * self._backoff.most_seconds(n_failures), wished_seconds(response) if response else 0.0
            )
            if self._clock() + seconds > give_up_at:
                raise UnavailableError(
                    f"{reason}; asked {n_failures} times, and gave up", hint="nothing is known to be done; try again"
                )
            with spans.span("wait for server", n_failures=n_failures):
                pause(Waiting(n_failures, seconds, reason))

    def _try_once(self, request: Request) -> tuple[Response | None, str]:
        try:
            with spans.span("ask server", bytes_in=len(request.body)) as span:
                response = self._send(request)
                span.note(status=response.status, bytes_out=len(response.body))
        except NoAnswerError as error:
            return None, error.message
        return response, f"the server answers {response.status}"


class Patience:
    """A cancellable wait between attempts."""

    def __init__(self, report: Callable[[Waiting], None] = lambda _: None) -> None:
        self._report = report
        self._is_cancelled = threading.Event()

    def pause(self, waiting: Waiting) -> None:
        """Report the wait, then wait.

        Raises:
            CancelledError: the call was cancelled.
        """
        self._report(waiting)
        if self._is_cancelled.wait(waiting.seconds):
            raise CancelledError("the call was cancelled")

    def end(self) -> None:
        """Cancel the current wait and all further ones."""
        self._is_cancelled.set()


def is_away(response: Response) -> bool:
    """Whether a response means that a retry may succeed."""
    error_code = next((name for name in (_IN_PROGRESS, _UNREACHABLE) if name in response.body[:_MAX_RETRY_AFTER]), b"")
    if (response.status, error_code) == (
        _BAD_GATEWAY,
        _UNREACHABLE,
    ):  # this server works; the one it should fetch from does not
        return False
    return response.status in _RETRYABLE_STATUSES or (response.status, error_code) == (_CONFLICT, _IN_PROGRESS)


def wished_seconds(response: Response) -> float:
    """Return the seconds of a Retry-After header; 0 for a date or anything else."""
    header = response.headers.get("retry-after", "")
    return (
        float(min(int(header), _MAX_RETRY_AFTER))
        if header.isdecimal() and header.isascii() and len(header) < _MAX_DIGITS
        else 0.0
    )
