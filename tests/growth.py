"""Growth of the processor time that a function takes with the length of its input."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_FACTOR = 4
_MOST_GROWTH = 2 * _FACTOR
_NOISE_SECONDS = 0.25
"""A quadratic function takes sixteen times as long for four times the input; shorter times say nothing."""


def require_linear(run: Callable[[int], object], length: int) -> None:
    """Require that processor time grows with the length, not with its square, up to `length`."""
    seconds = _seconds(run, length)
    if seconds > _NOISE_SECONDS:
        short = min(_seconds(run, length // _FACTOR) for _ in range(2))
        assert min(seconds, _seconds(run, length)) <= _MOST_GROWTH * short + _NOISE_SECONDS


def _seconds(run: Callable[[int], object], length: int) -> float:
    start = time.process_time()
    run(length)
    return time.process_time() - start
