"""What a check of the index came to."""

from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """What a check of the doctor came to."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    REPAIRED = "repaired"


class Finding(NamedTuple):
    """One thing that was checked, what was found, and what to do about it."""

    check: str
    verdict: Verdict
    message: str
    hint: str = ""
