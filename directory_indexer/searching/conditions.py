"""Parsing of search conditions, as people and assistants write them, into the values of a request."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping

from directory_indexer.errors import UsageError
from directory_indexer.paths import well_formed
from directory_indexer.relevance.periods import Period, beginning_of_date, period_of


def since_moment(text: str, *, name: str) -> float | None:
    """Return the start of `7d`, `2026-01` or `2026-01-31` in seconds since the epoch; `name` is used in messages.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    period = _period(text, name)
    return period and period.start


def until_moment(text: str, *, name: str) -> float | None:
    """Return the end of `7d`, `2026-01` or `2026-01-31` in seconds since the epoch; `name` is used in messages.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    period = _period(text, name)
    return period and period.end


def metadata_conditions(
    values_by_name: Mapping[str, Iterable[str]], *, names: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return the conditions on the metadata of documents; `names` are the names of the options for messages.

    Raises:
        UsageError: a value is blank, or `created` is not the beginning of a date.
    """
    conditions = tuple(
        (name, well_formed(value).strip()) for name, values in values_by_name.items() for value in values
    )
    for name, value in conditions:
        if not value:
            raise UsageError(f"{names[name]} is empty", hint="leave it out, or give what the document must say")
        if len(value) > _MAX_VALUE_LENGTH:
            raise UsageError(f"{names[name]} is longer than anything that a document says of itself")
    conditions = tuple((name, beginning_of_date(value) if name == "created" else value) for name, value in conditions)
    for name, value in conditions:
        if name == "created" and not re.fullmatch(_DATE, value):
            raise UsageError(
                f"{names[name]} '{value}' is not the beginning of a date", hint="write 2026, 2026-01 or 2026-01-31"
            )
    return conditions


def _period(text: str, name: str) -> Period | None:
    if not text:
        return None
    period = period_of(text, now=time.time())
    if period is None:
        raise UsageError(
            f"{name} '{text}' is neither an age nor a date",
            hint="write 36h, 7d, 2w, 6m, yesterday, last week or 2026-01-31",
        )
    return period


_MAX_VALUE_LENGTH = 500
_DATE = r"[0-9]{4}(?:-[0-9]{2}){0,2}(?:[Tt][0-9:.+-]*)?"
