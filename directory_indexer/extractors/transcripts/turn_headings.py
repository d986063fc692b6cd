"""The heading of a turn, and its time parsed back: all that each passage keeps of its turn is the heading."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from directory_indexer.extractors.transcripts.events import Role

SHOWN_SECONDS: Final = 60
"""The precision of the time in a heading: it may be so much earlier than the turn."""


def turn_heading(role: Role, time: str, *, is_aside: bool) -> str:
    """Format the role and time of a turn; `time` is in UTC, to the second, in ISO 8601, or empty."""
    who = f"{_ASIDE if is_aside else ''}{role}"
    return f"{who}, {time[:10]} {time[11:16]} UTC" if time else who


def said_at(heading: str) -> float | None:
    """Parse the time in the heading of a turn, in seconds since the epoch; None if it has none."""
    match = _HEADING.match(heading)
    if match is None:
        return None
    try:
        return datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


_ASIDE: Final = "sub-agent, "
_HEADING: Final = re.compile(rf"(?:{_ASIDE})?(?:{'|'.join(Role)}), (\d{{4}}-\d\d-\d\d \d\d:\d\d) UTC\b")
