"""Resemblance of a word to a password when no name precedes it: the topic of the surrounding text has to decide.

A word of a language, a version, an address or an identifier is none, however many digits it has.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.strength import is_password, is_placeholder, is_strong


class Shape(IntEnum):
    """Resemblance of a word to a password, as opposed to anything else."""

    PLAIN = 0
    CHOSEN = 1
    """Letters and digits, as in many identifiers."""
    HARD = 2
    """Letters and digits with a sign among or after them, or alternating cases and digits."""
    RANDOM = 3


def shape_of(word: str) -> Shape:
    """Return the shape of a word without its delimiters."""
    if _DIGITS.fullmatch(word):
        return Shape.PLAIN if is_placeholder(word) else Shape.CHOSEN
    if not _HAS_LETTER_AND_MORE.match(word) or not is_password(word) or _TECHNICAL.search(word):
        return Shape.PLAIN
    if is_strong(word) and not _NAME.fullmatch(word):
        return Shape.RANDOM
    if len(word) >= _MIN_HARD and _HARD.fullmatch(word):
        return Shape.HARD
    return Shape.CHOSEN if any(map(str.isdigit, word)) else Shape.PLAIN


def bare(word: str) -> tuple[int, int]:
    """Return the bounds of a word without the quotes around it and the punctuation after it."""
    start, end = 0, len(word)
    while end and word[end - 1] in _MARKS:
        end -= 1
    while start < end and word[start] in _QUOTES:
        start += 1
    while end > start and word[end - 1] in _CLOSING:
        end -= 1
    return start, end


_MIN_HARD: Final = 8
_MARKS: Final = ".,;:"
_QUOTES: Final = "\"'`(<[_"
_CLOSING: Final = "\"'`)>].,;:"
_DIGITS: Final = LazyPattern(r"\d{16}|\d{20,63}")
"""Factory-set keys of routers."""
_HAS_LETTER_AND_MORE: Final = LazyPattern(r"(?=[^A-Za-z]*+[A-Za-z])[A-Za-z]*+[^A-Za-z]")
_HARD: Final = LazyPattern(
    r"(?=[^a-zA-Z]*+[a-zA-Z])(?=\D*+\d)[^!#$%&*+?~^=@]*+[!#$%&*+?~^=@].*|"  # a letter, a digit and a sign
    r"(?=[^a-z]*+[a-z])(?=[^A-Z]*+[A-Z])(?:\w*\d[a-z]+\w*\d\w*|[A-Za-z]{4,}(?:\d{3,}[A-Za-z]{4,}|\d{2}[A-Za-z]{4,}\d{2,})|[a-z]+[A-Z][a-z]+\d{2,}|(?:[A-Z][a-z]{3,}_?){2,3}\d{2,4})"
)
"""Patterns that follow no rule of spelling: a sign among letters and digits, digits for letters, two words and a year.
"""
_NAME: Final = LazyPattern(r"[a-z]+(?:[-_.][a-z]+)*[-_.]?[a-z]?\d{1,4}|(?:[a-z0-9]+[-_.]){3,}[a-z0-9]+")
_TECHNICAL: Final = LazyPattern(
    r"(?i)[/\\(){}<>\[\]|\"`]|\w[=:]\S*[a-z]|::|->|@[\w-]+\.[a-z]|^[@#&$%+-]|&\w+;|\.(?:[a-z]{2,4}|html|conf|json|yaml)$|"
    r"sha-?\d|aes-?\d|rsa-?\d|hmac|pbkdf|argon|crypt|base-?(?:32|58|64)|utf-?\d|oauth|25519|x\.?509|pkcs|tls|ssl|ntlm|"
    r"md[45]|rfc-?\d|iso-?\d|(?-i:^[A-Z]{2,8}-\d{1,6}$)|^v?\d+[.-]\d|^\+?[\d,.:-]+[a-z]{0,3}$|\+\+|^[\d-]+[-T][\d:.]+Z?$|"
    r"^(?:windows|python|postgres|mysql|java|version|step|level|section|type|option|ubuntu|debian|android|office)\W?\w?\d|"
    r"^[0-9a-f]{7,64}$|^[0-9a-f]{8}-[0-9a-f]{4}-|^0x|^(?:bsd|mit|apache|cc|mpl)\b|gpl|-\d+\.\d|^\d+-[a-z]+$"
)
"""Paths, addresses, settings, versions, dates, hashes, the names of algorithms."""
