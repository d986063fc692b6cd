"""Metadata values, validated and cut to what an index keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

MAX_VALUES: Final = 32
MAX_CHARACTERS: Final = 500


def one_value(written: str) -> str:
    """Return a value on one line of bounded length."""
    return " ".join(written[: 4 * MAX_CHARACTERS].split())[:MAX_CHARACTERS]


def values(written: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct non-empty values, in order."""
    return tuple(dict.fromkeys(filter(None, map(one_value, written))))[:MAX_VALUES]


def listed(written: str) -> tuple[str, ...]:
    """Split a list of names or keywords in one field: at semicolons if there are any, else at commas."""
    return values(written.split(";" if ";" in written else ","))


def iso_time(written: str) -> str:
    """Return a time in ISO 8601 with the precision that it has; "" if it is invalid, or implausibly early."""
    match = _TIME.fullmatch(written.strip())
    if not match or not _FIRST_YEAR <= int(match["year"]) <= _LAST_YEAR:
        return ""
    try:
        datetime.fromisoformat(f"{match['year']}-{match['month'] or '01'}-{match['day'] or '01'}{match['time'] or ''}")
    except ValueError:
        return ""
    return re.sub(_FRACTION, "", match[0])


def primary_language(tag: str) -> str:
    """Return the first part of a language tag, `en` for `en-US`; "" if it is invalid."""
    match = _LANGUAGE.match(tag.strip())
    return match[1].lower() if match and match[1].lower() not in _NO_LANGUAGES else ""


def written_title(title: str) -> str:
    """Return a title; "" if it is a default that programs write: a file name, `Document1`."""
    title = one_value(title)
    return "" if _NO_TITLE.fullmatch(title) else title


_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 2100
_TIME: Final = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?P<time>T\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
    r"(?:Z|[+-]\d\d:\d\d)?)?)?)?"
)
_FRACTION: Final = r"\.\d+"
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2,3})(?:[-_].*)?$", re.DOTALL)
_NO_LANGUAGES: Final = frozenset({"und", "zxx", "mul", "mis"})
_NO_TITLE: Final = re.compile(
    r"\S+\.\w{1,5}|microsoft (?:word|powerpoint|excel) - .*|untitled.*|(?:no )?title|unknown|none|document\d*|"
    r"powerpoint(?:-| )?pr[aäe]sentation|presentation\d*|folie \d+|slide \d+|workbook\d*|book\d*",
    re.IGNORECASE,
)
