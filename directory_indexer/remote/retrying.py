"""Asks again when a server is away: later each time, at moments that chance spreads, and not for ever."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from directory_indexer.errors import UnavailableError
from directory_indexer.remote.exchange import NoAnswerError, Request, Response
from directory_indexer.telemetry import spans

_AWAY: Final = frozenset({408, 425, 429, 502, 503, 504})
_CONFLICT: Final = 409
_BAD_GATEWAY: Final = 502
_IN_HAND: Final = b'"in_hand"'
_UNREACHABLE: Final = b'"unreachable"'
_LONGEST_WISH: Final = 3600
"""What a server may ask for with Retry-After counts up to this; more is more than the patience anyway."""


class Backoff(NamedTuple):
    """How long to wait: up to twice as long each time (by chance: full jitter), in all as long as patience goes."""

    first_seconds: float = 0.5
    longest_seconds: float = 15.0
    patience_seconds: float = 180.0

    def most_seconds(self, n_failures: int) -> float:
        """Give the longest wait after so many failures."""
        return min(self.longest_seconds, self.first_seconds * 2.0 ** min(n_failures - 1, 20))


class Waiting(NamedTuple):
    """What is waited for: how often it failed, for how long, and why."""

    n_failures: int
    seconds: float
    reason: str


class CancelledError(UnavailableError):
    """Nobody waits for the answer any more."""


class Retrying:
    """Sends requests until they are answered; what is sent must be safe to be sent twice."""

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
        """Give the answer to a request; `pause` waits, and may raise to give up.

        Raises:
            UnavailableError: the server was away for longer than patience goes, or cannot be spoken with.
        """
        give_up_at = self._clock() + self._backoff.patience_seconds
        n_failures = 0
        while True:
            response, reason = self._tried(request)
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

    def _tried(self, request: Request) -> tuple[Response | None, str]:
        try:
            with spans.span("ask server", bytes_in=len(request.body)) as span:
                response = self._send(request)
                span.note(status=response.status, bytes_out=len(response.body))
        except NoAnswerError as error:
            return None, error.message
        return response, f"the server answers {response.status}"


class Patience:
    """Waits between attempts as long as somebody wants the answer."""

    def __init__(self, tell: Callable[[Waiting], None] = lambda _: None) -> None:
        self._tell = tell
        self._is_over = threading.Event()

    def pause(self, waiting: Waiting) -> None:
        """Wait.

        Raises:
            CancelledError: nobody wants the answer any more.
        """
        self._tell(waiting)
        if self._is_over.wait(waiting.seconds):
            raise CancelledError("the call was cancelled")

    def end(self) -> None:
        """Say that nobody wants the answer any more."""
        self._is_over.set()


def is_away(response: Response) -> bool:
    """Tell whether an answer means that the same request may be answered later."""
    error = next((name for name in (_IN_HAND, _UNREACHABLE) if name in response.body[:_LONGEST_WISH]), b"")
    if (response.status, error) == (_BAD_GATEWAY, _UNREACHABLE):  # the server is there, that of an address is not
        return False
    return response.status in _AWAY or (response.status, error) == (_CONFLICT, _IN_HAND)


def wished_seconds(response: Response) -> float:
    """Tell how long a server wants to be left alone; a date, and whatever else it says, counts as nothing."""
    wish = response.headers.get("retry-after", "")
    return float(min(int(wish), _LONGEST_WISH)) if wish.isdecimal() and wish.isascii() and len(wish) < 10 else 0.0  # noqa: PLR2004
