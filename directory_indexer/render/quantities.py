"""Formatting of numbers, sizes and times for people. Pure: the current time is an argument."""

from __future__ import annotations

import time

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_FOUR_DIGITS = 1000
_TWO_DIGITS = 9.95  # rounds to 10
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_AGES = ((365 * _DAY, "year"), (30 * _DAY, "month"), (_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))


def count(n: int, noun: str, plural: str = "") -> str:
    """Format a count: `1 file`, `12,000 files`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def size(n_bytes: float) -> str:
    """Format a size with two or three digits: `980 B`, `1.2 MiB`, `34 GiB`."""
    unit = 0
    while round(n_bytes) >= _FOUR_DIGITS and unit < len(_UNITS) - 1:
        n_bytes /= 1024
        unit += 1
    return f"{n_bytes:.1f} {_UNITS[unit]}" if unit and n_bytes < _TWO_DIGITS else f"{n_bytes:,.0f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 2 h`."""
    if seconds < _TWO_DIGITS:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def ago(then: float, *, now: float) -> str:
    """Format an age: `just now`, `3 minutes ago`, `2 years ago`."""
    seconds = int(now - then)
    for unit_seconds, unit in _AGES:
        if seconds >= unit_seconds:
            return f"{count(seconds // unit_seconds, unit)} ago"
    return "just now"


def day(moment: float) -> str:
    """Format the local date of a moment, as filters accept it."""
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def percent(part: int, whole: int) -> str:
    """Format a share; only what is complete is 100 %, and only nothing is 0 %."""
    if not whole:
        return "-"
    if 0 < part * 100 < whole:
        return "<1 %"
    return f"{part * 100 // whole} %"
