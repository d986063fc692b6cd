"""What is asked of documents beside words, as people and assistants write it, read into the values of a request."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping

from directory_indexer.errors import UsageError
from directory_indexer.paths import well_formed
from directory_indexer.relevance.periods import Period, beginning_of_date, period_of


def since_moment(text: str, *, name: str) -> float | None:
    """Give the beginning of `7d`, `2026-01` or `2026-01-31` in seconds since the epoch; `name` is what it was given as.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    period = _period(text, name)
    return period and period.start


def until_moment(text: str, *, name: str) -> float | None:
    """Give the end of `7d`, `2026-01` or `2026-01-31` in seconds since the epoch; `name` is what it was given as.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    period = _period(text, name)
    return period and period.end


def metadata_conditions(
    wanted: Mapping[str, Iterable[str]], *, names: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Give what documents must say about themselves; `names` tells what each condition was given as.

    Raises:
        UsageError: a value is blank, or `created` is no beginning of a date.
    """
    conditions = tuple((name, well_formed(value).strip()) for name, values in wanted.items() for value in values)
    for name, value in conditions:
        if not value:
            raise UsageError(f"{names[name]} is empty", hint="leave it out, or give what the document must say")
        if len(value) > _MOST_CHARACTERS:
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


_MOST_CHARACTERS = 500
_DATE = r"[0-9]{4}(?:-[0-9]{2}){0,2}(?:[Tt][0-9:.+-]*)?"
