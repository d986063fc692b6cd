"""Recognises the language of a text by short sequences of its bytes (Lui and Baldwin, "langid.py", ACL 2012).

The table is made by `scripts/build_languages` from the model of py3langid, which takes 0.8 s of processor time to
load where this takes 5 ms. It is read without numpy, which many a run that reads a note does not need otherwise.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Final, NamedTuple, cast


def language_of_document(text: str) -> str:
    """Recognise the language of prose, as the first part of its BCP 47 tag; "" where it is not certain.

    Lines of code, of tables and of addresses say nothing, so that only those are asked that hold hardly anything but
    words. 600 characters suffice: of 715 translated manual pages, some of which are English in part, 93 % are named
    rightly, as they are by the whole model of py3langid.
    """
    sample = "".join(_prose(text[:_WITHIN]))
    if len(sample) < _FEW_CHARACTERS:
        return ""
    first = guess_language(sample[:_FIRST_CHARACTERS])
    if first.lead >= _OBVIOUS:
        return first.language
    guess = guess_language(sample)
    return guess.language if guess.lead >= _CERTAIN else ""


def _prose(text: str) -> Iterator[str]:
    n_characters = 0
    for line in text.split("\n"):
        part = line[: _SAMPLE_CHARACTERS - n_characters]
        is_sentence = part.count(" ") >= _FEW_BLANKS or (not part.isascii() and re.search(_WITHOUT_BLANKS, part))
        if is_sentence and len(re.findall(_SIGN, part)) <= _FEW_SIGNS * len(part):
            yield part + "\n"
            n_characters += len(part)
            if n_characters >= _SAMPLE_CHARACTERS:
                return


class Guess(NamedTuple):
    """A language by the first part of its BCP 47 tag, and how far it is ahead of the next one for each byte read."""

    language: str
    lead: float


def guess_language(text: str) -> Guess:
    """Tell which language a text is most probably in; a text without any known sequence is in none."""
    table = _table()
    written = unicodedata.normalize("NFC", text.lower() if text.isupper() else text).encode("utf-8", "replace")
    counts = Counter(_rows_of(written))
    counts.pop(None, None)
    if not counts:
        return Guess("", 0.0)
    rows_by_count: dict[int, list[int]] = defaultdict(list)
    for row, count in counts.items():
        rows_by_count[count].append(cast("int", row))
    # One number holds the sums of all languages side by side, so that a row is added at once.
    total = sum(sum(map(_lanes_of, rows)) * _WEIGHTS[min(count, _MOST)] for count, rows in rows_by_count.items())
    n_languages = len(table.languages)
    sums = struct.unpack(f"<{n_languages}I", total.to_bytes(_LANE_BYTES * n_languages, "little"))
    (best, language), (second, _) = sorted(zip(sums, table.languages, strict=True), reverse=True)[:2]
    return Guess(language, (best - second) / len(written))


class _Table(NamedTuple):
    """`rows` numbers the sequences, `weights` has a byte for each language in each row, 128 more than it weighs."""

    languages: tuple[str, ...]
    rows: dict[bytes, int]
    weights: tuple[bytes, ...]


@cache
def _table() -> _Table:
    with open(_PATH, "rb") as file:
        header = json.loads(file.readline())
        written, weights = file.read(header["feature_bytes"]), file.read()
    rows: dict[bytes, int] = {}
    at = 0
    while at < len(written):
        end = at + 1 + written[at]
        rows[written[at + 1 : end]] = len(rows)
        at = end
    n_languages = len(header["languages"])
    return _Table(
        tuple(header["languages"]),
        rows,
        tuple(weights[start : start + n_languages] for start in range(0, len(weights), n_languages)),
    )


def _rows_of(written: bytes) -> Iterable[int | None]:
    """Give, for each byte, the row of the longest known sequence that ends with it: one of 4, of 3 or of 2 bytes."""
    # Four bytes are one number, and all numbers that begin a multiple of four behind the same byte are read at once.
    padded = memoryview(bytes(_LONGEST - 2) + written)
    ends = (start + (len(padded) - start) // _LONGEST * _LONGEST for start in range(_LONGEST))
    numbers = chain.from_iterable(padded[start:end].cast("I").tolist() for start, end in enumerate(ends))
    return map(_row_of_number.__getitem__, numbers)


class _RowOfNumber(dict[int, "int | None"]):
    """The rows of the sequences met, by the number of their last four bytes; forgotten when there are too many."""

    def __missing__(self, number: int) -> int | None:
        if len(self) >= _MAX_CACHED:
            self.clear()
        last, rows = number.to_bytes(_LONGEST, sys.byteorder), _table().rows
        row = rows.get(last)
        if row is None:
            row = rows.get(last[1:], rows.get(last[2:]))
        return self.setdefault(number, row)


@cache
def _lanes_of(row: int) -> int:
    """Give the weights of a row as one number, with room between them for sums."""
    weights = _table().weights[row]
    spread = bytearray(_LANE_BYTES * len(weights))
    spread[::_LANE_BYTES] = weights
    return int.from_bytes(spread, "little")


_PATH: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "models", "languages", "table.bin")
_LANE_BYTES: Final = 4
_LONGEST: Final = 4
"""How many bytes the longest sequences have."""
_MAX_CACHED: Final = 1 << 15
_MOST: Final = 255
_WEIGHTS: Final = tuple(round(16 * math.log1p(count)) for count in range(_MOST + 1))
"""A sequence that comes again says less, as of py3langid."""
_WITHIN: Final = 20_000
_SAMPLE_CHARACTERS: Final = 600
_FEW_CHARACTERS: Final = 20
_FEW_BLANKS: Final = 3
_WITHOUT_BLANKS: Final = "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]"
_CERTAIN: Final = 4.0
_FIRST_CHARACTERS: Final = 260
_OBVIOUS: Final = 8.0
"""Of 2,897 manual pages and notes 2,531 are so far ahead after so few characters; 6 of these are others by all 600."""

_FEW_SIGNS: Final = 0.08
_SIGN: Final = r"[0-9#$%&*+/<=>@\[\\\]^_`{|}~]"
"""What code, tables and addresses have more of than prose."""
_row_of_number: Final = _RowOfNumber()
