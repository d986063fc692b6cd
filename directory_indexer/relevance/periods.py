"""Parsing of moments and periods: ages, dates in several notations, and phrases such as `last week`.

A date or phrase without a time zone is in that of this machine, as dates are displayed.
"""

from __future__ import annotations

import re
import time
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple


class Period(NamedTuple):
    """A half-open interval in seconds since the epoch.

    `written` is the ISO 8601 form of a year, a month or a day.
    """

    start: float
    end: float
    written: str = ""


def period_of(text: str, *, now: float) -> Period | None:
    """Parse an age, a date, an ISO 8601 time, or a phrase such as `yesterday` and `last week`; None if it is none.

    Ages are `7d`, `2 weeks ago` and `last 30 days`, the moment so long ago. Dates are `2026`, `2026-1`, `2026-01-31`,
    `2026/1/31`, `31.1.2026` and `1.2026`. Weeks begin on Monday.
    """
    typed = " ".join(re.sub(_BETWEEN_WORDS, " ", text).lower().split())
    try:
        return _age(typed, now) or _calendar(typed) or _named(typed, now) or _moment(text.strip())
    except (ValueError, OverflowError, OSError):
        return None


def beginning_of_date(text: str) -> str:
    """Format a year, a month or a day as in ISO 8601; return any other text unchanged."""
    period = period_of(text, now=time.time())
    return (period and period.written) or text


def _age(typed: str, now: float) -> Period | None:
    match = re.fullmatch(_AGE, typed)
    if not match or match["unit"] not in _SECONDS:
        return None
    seconds = now - int(match["n"]) * _SECONDS[match["unit"]]
    return Period(seconds, seconds)


def _calendar(typed: str) -> Period | None:
    """Parse a year, a month or a day in any of the notations."""
    match = next((candidate for form in _DATES if (candidate := re.fullmatch(form, typed))), None)
    if match is None:
        return None
    year, month, day = (int(match[part] or 0) for part in "ymd")
    first = date(year, month or 1, day or 1)
    if day:
        return _days(first, first + timedelta(days=1), _DAY)
    return _days(first, _next_month(first), _MONTH) if month else _days(first, date(year + 1, 1, 1), _YEAR)


def _named(typed: str, now: float) -> Period | None:
    """Parse phrases for a moment, a day, or this or the last week, month or year."""
    name = typed.removeprefix("the ").replace("previous ", "last ").replace("past ", "last ")
    if name == "now":
        return Period(now, now)
    today = datetime.fromtimestamp(now).astimezone().date()
    day = timedelta(days=1)
    week, month, year = today - today.weekday() * day, today.replace(day=1), today.replace(month=1, day=1)
    periods = {
        "today": (today, today + day, _DAY),
        "yesterday": (today - day, today, _DAY),
        "this week": (week, week + 7 * day, ""),
        "last week": (week - 7 * day, week, ""),
        "this month": (month, _next_month(month), _MONTH),
        "last month": ((month - day).replace(day=1), month, _MONTH),
        "this year": (year, year.replace(year=year.year + 1), _YEAR),
        "last year": (year.replace(year=year.year - 1), year, _YEAR),
    }
    return _days(*periods[name]) if name in periods else None


def _moment(typed: str) -> Period:
    seconds = datetime.fromisoformat(typed.upper()).astimezone().timestamp()
    return Period(seconds, seconds)


def _next_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def _days(first: date, end: date, form: str) -> Period:
    # Each day has its own UTC offset: where clocks are changed, a day has 23 or 25 hours.
    start, after = (datetime(day.year, day.month, day.day).astimezone().timestamp() for day in (first, end))
    return Period(start, after, f"{first:{form}}" if form else "")


_BETWEEN_WORDS: Final = r"(?<=[A-Za-z])[-_](?=[A-Za-z0-9])|(?<=[0-9])[-_](?=[A-SU-Za-su-z])"
_AGE: Final = r"(?:(?:the )?(?:last|past|previous) )?(?P<n>[0-9]{1,9}) ?(?P<unit>[a-z]+)(?: ago)?"
_DATES: Final = (
    r"(?P<y>[0-9]{4})(?:([-/])(?P<m>[0-9]{1,2})(?:\2(?P<d>[0-9]{1,2}))?)?",
    r"(?:(?P<d>[0-9]{1,2})\. ?)?(?P<m>[0-9]{1,2})\. ?(?P<y>[0-9]{4})",
)
_YEAR, _MONTH, _DAY = "%Y", "%Y-%m", "%Y-%m-%d"
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
