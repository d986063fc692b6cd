"""What files say about themselves: checked, and cut to what an index keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

MAX_VALUES: Final = 32
MAX_CHARACTERS: Final = 500


def one_value(written: str) -> str:
    """Put a property on one line of bounded length."""
    return " ".join(written[: 4 * MAX_CHARACTERS].split())[:MAX_CHARACTERS]


def values(written: Iterable[str]) -> tuple[str, ...]:
    """Give each value once, in order, without empty ones."""
    return tuple(dict.fromkeys(filter(None, map(one_value, written))))[:MAX_VALUES]


def listed(written: str) -> tuple[str, ...]:
    """Take apart what people write into one field: names or keywords between semicolons, else between commas."""
    return values(written.split(";" if ";" in written else ","))


def iso_time(written: str) -> str:
    """Give a time in ISO 8601 as exact as it is written; "" for what is none, or lies before documents were files."""
    found = _TIME.fullmatch(written.strip())
    if not found or not _FIRST_YEAR <= int(found["year"]) <= _LAST_YEAR:
        return ""
    try:
        datetime.fromisoformat(f"{found['year']}-{found['month'] or '01'}-{found['day'] or '01'}{found['time'] or ''}")
    except ValueError:
        return ""
    return re.sub(_FRACTION, "", found[0])


def primary_language(tag: str) -> str:
    """Give the first part of a language tag: `en` for `en-US`; "" for what is none."""
    found = _LANGUAGE.match(tag.strip())
    return found[1].lower() if found and found[1].lower() not in _NO_LANGUAGES else ""


def written_title(title: str) -> str:
    """Give a title unless it is what programs write where nobody wrote one: a file name, `Document1`."""
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
