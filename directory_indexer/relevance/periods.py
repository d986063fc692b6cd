"""Moments and periods as people write them: an age such as `7d`, or a date, a month or a year."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple


class Period(NamedTuple):
    """A stretch of time in seconds since the epoch, without its end."""

    start: float
    end: float


def period_of(text: str, *, now: float) -> Period | None:
    """Read `36h`, `7d`, `2w`, `6m`, `1y`, `2026`, `2026-01`, `2026-01-31` or a time of ISO 8601; None if it is none.

    An age is the moment so long ago. Dates without a zone are those of this machine.
    """
    written = text.strip().lower()
    if (age := re.fullmatch(_AGE, written)) and age[2] in _SECONDS:
        seconds = now - int(age[1]) * _SECONDS[age[2]]
        return Period(seconds, seconds)
    try:
        return _dated(written)
    except (ValueError, OverflowError, OSError):
        return None


def _dated(written: str) -> Period:
    if found := re.fullmatch(r"(\d{4})(?:-(\d{2}))?", written):
        year, month = int(found[1]), int(found[2] or 1)
        start = datetime(year, month, 1).astimezone()
        is_last = not found[2] or month == _MONTHS
        end = datetime(year + 1 if is_last else year, 1 if is_last else month + 1, 1).astimezone()
        return Period(start.timestamp(), end.timestamp())
    moment = datetime.fromisoformat(written).astimezone()
    is_day = len(written) == len("2026-01-31")
    return Period(moment.timestamp(), (moment + timedelta(days=is_day)).timestamp())


_MONTHS: Final = 12
_AGE: Final = r"([0-9]{1,9})\s*([a-z]+)"
_UNITS: Final = {
    1: "s sec secs second seconds",
    60: "min mins minute minutes",
    3600: "h hr hrs hour hours",
    86400: "d day days",
    604800: "w wk wks week weeks",
    2629800: "m mo month months",
    31557600: "y yr yrs year years",
}
_SECONDS: Final = {name: seconds for seconds, names in _UNITS.items() for name in names.split()}
