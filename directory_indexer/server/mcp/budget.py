"""Token budgets of answers, and how many items fit into one.

Tokenizers differ, so a token counts as three bytes of JSON: about right for code, for Chinese and for escaped
characters, and more than English prose needs. Clients forward the text, the structured content or both, so each of
them has to keep to the budget by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

_BYTES_PER_TOKEN = 3


class Budgets:
    """Budgets in tokens. With that of `search`, text and structured content together stay below 10 KB."""

    SEARCH: Final = 1500
    CONTENT: Final = 4000
    INFO: Final = 1500
    OUTLINE: Final = 600
    READING: Final = 8000
    LEAST: Final = 200
    MOST: Final = 10_000


def count_json_tokens(value: object) -> int:
    """Return the token count of a value in JSON."""
    return -(-count_json_bytes(value) // _BYTES_PER_TOKEN)


def count_json_bytes(value: object) -> int:
    """Return the byte count of a value in JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def largest_number_that_fits(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` that fits, by binary search; 0 if none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
