"""Cancellation of the work of this thread when its client has disconnected."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar


class CancelledError(Exception):
    """Nobody waits for the result."""


_caller_has_gone: ContextVar[Callable[[], bool] | None] = ContextVar("has_gone", default=None)


@contextlib.contextmanager
def cancelled_by(has_gone: Callable[[], bool]) -> Iterator[None]:
    """Cancel what a block does, at its next check, once `has_gone` is true."""
    token = _caller_has_gone.set(has_gone)
    try:
        yield
    finally:
        _caller_has_gone.reset(token)


def raise_if_cancelled() -> None:
    """Raise if nobody waits for the result any more.

    Raises:
        CancelledError: so it is.
    """
    if (has_gone := _caller_has_gone.get()) is not None and has_gone():
        raise CancelledError
