"""The heading of a turn, and the time read back from it: the heading is all that each passage keeps of its turn."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from directory_indexer.extractors.transcripts.events import Role

SHOWN_SECONDS: Final = 60
"""How much earlier than the turn the time in its heading may be."""


def turn_heading(role: Role, time: str, *, is_aside: bool) -> str:
    """Say who speaks and when; `time` is in UTC, to the second, in ISO 8601, or empty."""
    who = f"{_ASIDE if is_aside else ''}{role}"
    return f"{who}, {time[:10]} {time[11:16]} UTC" if time else who


def said_at(heading: str) -> float | None:
    """Tell from the heading of a passage when it was said, in seconds since the epoch; None where it does not say."""
    found = _HEADING.match(heading)
    if found is None:
        return None
    try:
        return datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


_ASIDE: Final = "sub-agent, "
_HEADING: Final = re.compile(rf"(?:{_ASIDE})?(?:{'|'.join(Role)}), (\d{{4}}-\d\d-\d\d \d\d:\d\d) UTC\b")
