"""Numerals of lists: letters and Roman numerals."""

from __future__ import annotations

from typing import Final


def alphabetic_numeral(number: int) -> str:
    """Format a number as a, b, c; after z office programs continue with aa, bb, cc."""
    return chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 10) if number > 0 else str(number)


def roman_numeral(number: int) -> str:
    """Format a number as i, ii, iii, iv."""
    if not 0 < number < _MAX_ROMAN:
        return str(number)
    numeral = ""
    for value, signs in _ROMAN:
        numeral += signs * (number // value)
        number %= value
    return numeral


_MAX_ROMAN: Final = 4_000
_ROMAN: Final = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        "m cm d cd c xc l xl x ix v iv i".split(),
        strict=True,
    )
)
