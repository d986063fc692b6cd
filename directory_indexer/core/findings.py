"""Results of checks of the index."""

from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """The outcome of a check of the doctor."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    REPAIRED = "repaired"


class Finding(NamedTuple):
    """The result of one check: its outcome, and what to do about it."""

    check: str
    verdict: Verdict
    message: str
    hint: str = ""
