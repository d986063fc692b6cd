"""Language identification by short byte sequences (Lui and Baldwin, "langid.py", ACL 2012).

`packaging/model/build_languages` makes the table from the model of py3langid, which takes 0.8 s of processor time;
this takes 5 ms. It is read without numpy, which many runs that read a note do not need otherwise.
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

from directory_indexer.ranking.analyzer import split_into_words
from directory_indexer.ranking.languages import NAMES, function_words, other_function_words


def language_of_document(text: str) -> str:
    """Return the language of prose, as the first part of its BCP 47 tag; "" where it is not certain.

    Only lines that consist almost entirely of words are examined, as code, tables and addresses say nothing. 600
    characters suffice: of 715 translated manual pages, some partly in English, 93 % are identified correctly, the same
    as by the whole model of py3langid.
    """
    sample = "".join(_prose(text[:_MAX_EXAMINED]))
    if len(sample) < _MIN_CHARACTERS:
        return ""
    if len(sample) <= _FIRST_CHARACTERS:
        return _language_of_sentence(sample)
    first = guess_language(sample[:_FIRST_CHARACTERS])
    if first.lead >= _OBVIOUS_LEAD:
        return first.language
    guess = guess_language(sample)
    return guess.language if guess.lead >= _CERTAIN_LEAD else ""


def _language_of_sentence(sample: str) -> str:
    """Return the language of a short text; names weigh much there, so function words count, too."""
    guess = guess_language(sample)
    own, english = (function_words(language) for language in (NAMES.get(guess.language, ""), "english"))
    words = split_into_words(sample)
    n_own = sum(word in own and (word not in english or own == english) for word in words)
    n_english = sum(word in english and word not in own for word in words)
    evidence = guess.lead * math.sqrt(len(sample))
    if n_english > n_own:
        n_certain = sum(word in english and word not in (own or other_function_words("english")) for word in words)
        return "en" if n_certain > 1 and not n_own and evidence < _MIN_EVIDENCE_ALONE else ""
    is_certain = guess.lead >= _CERTAIN_LEAD and evidence >= (
        _MIN_EVIDENCE_WITH_FUNCTION_WORDS if n_own else _MIN_EVIDENCE_ALONE
    )
    return guess.language if is_certain else ""


def _prose(text: str) -> Iterator[str]:
    n_characters = 0
    for line in text.split("\n"):
        part = line[: _SAMPLE_CHARACTERS - n_characters]
        is_sentence = part.count(" ") >= _MIN_BLANKS or (not part.isascii() and re.search(_WITHOUT_BLANKS, part))
        if is_sentence and len(re.findall(_SYMBOL, part)) <= _MAX_SIGN_SHARE * len(part):
            yield part + "\n"
            n_characters += len(part)
            if n_characters >= _SAMPLE_CHARACTERS:
                return


class Guess(NamedTuple):
    """A language by the first part of its BCP 47 tag, and its lead over the next one per byte read."""

    language: str
    lead: float


def guess_language(text: str) -> Guess:
    """Return the most probable language of a text; "" for a text without any known sequence."""
    table = _table()
    written = unicodedata.normalize("NFC", text.lower() if text.isupper() else text).encode("utf-8", "replace")
    counts = Counter(_table_rows(written))
    counts.pop(None, None)
    if not counts:
        return Guess("", 0.0)
    rows_by_count: dict[int, list[int]] = defaultdict(list)
    for row, count in counts.items():
        rows_by_count[count].append(cast("int", row))
    # One number holds the sums of all languages side by side, so that a row is added at once.
    total = sum(
        sum(map(_lanes_of_weight, rows)) * _WEIGHTS[min(count, _MAX_COUNT)] for count, rows in rows_by_count.items()
    )
    n_languages = len(table.languages)
    sums = struct.unpack(f"<{n_languages}I", total.to_bytes(_LANE_BYTES * n_languages, "little"))
    (best, language), (second, _) = sorted(zip(sums, table.languages, strict=True), reverse=True)[:2]
    return Guess(language, (best - second) / len(written))


class _Table(NamedTuple):
    """`rows` numbers the sequences; `weights` has a byte for each language in each row, offset by 128."""

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


def _table_rows(written: bytes) -> Iterable[int | None]:
    """Return, for each byte, the row of the longest known sequence that ends with it: of 4, 3 or 2 bytes."""
    # Four bytes are one number; all numbers at the same offset modulo four are read at once.
    padded = memoryview(bytes(_MAX_SEQUENCE_BYTES - 2) + written)
    ends = (
        start + (len(padded) - start) // _MAX_SEQUENCE_BYTES * _MAX_SEQUENCE_BYTES
        for start in range(_MAX_SEQUENCE_BYTES)
    )
    numbers = chain.from_iterable(padded[start:end].cast("I").tolist() for start, end in enumerate(ends))
    return map(_row_of_number.__getitem__, numbers)


class _RowOfNumber(dict[int, "int | None"]):
    """Cache of the row of each sequence, by the number of its last four bytes; cleared when it is full."""

    def __missing__(self, number: int) -> int | None:
        if len(self) >= _MAX_CACHED:
            self.clear()
        last, rows = number.to_bytes(_MAX_SEQUENCE_BYTES, sys.byteorder), _table().rows
        row = rows.get(last)
        if row is None:
            row = rows.get(last[1:], rows.get(last[2:]))
        return self.setdefault(number, row)


@cache
def _lanes_of_weight(row: int) -> int:
    """Return the weights of a row as one number, with room between them for sums."""
    weights = _table().weights[row]
    spread = bytearray(_LANE_BYTES * len(weights))
    spread[::_LANE_BYTES] = weights
    return int.from_bytes(spread, "little")


_PATH: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "models", "languages", "table.bin")
_LANE_BYTES: Final = 4
_MAX_SEQUENCE_BYTES: Final = 4
"""The length of the longest sequences in bytes."""
_MAX_CACHED: Final = 1 << 15
_MAX_COUNT: Final = 255
_WEIGHTS: Final = tuple(round(16 * math.log1p(count)) for count in range(_MAX_COUNT + 1))
"""A repeated sequence adds less, as in py3langid."""
_MAX_EXAMINED: Final = 20_000
_SAMPLE_CHARACTERS: Final = 600
_MIN_CHARACTERS: Final = 20
_MIN_BLANKS: Final = 3
_WITHOUT_BLANKS: Final = "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]"
_CERTAIN_LEAD: Final = 4.0
_MIN_EVIDENCE_WITH_FUNCTION_WORDS: Final = 20.0
_MIN_EVIDENCE_ALONE: Final = 160.0
"""The lead times the square root of the length of a short text, with function words of its language and without.

Of 900 English texts of 10 words, 0.2 % are taken for another language, 2.9 % by the lead alone; of 5 words, 0.3 and
14 %.
"""

_FIRST_CHARACTERS: Final = 260
_OBVIOUS_LEAD: Final = 8.0
"""Of 2,897 manual pages and notes, 2,531 have this lead after so few characters; 6 of these differ by all 600."""

_MAX_SIGN_SHARE: Final = 0.08
_SYMBOL: Final = r"[0-9#$%&*+/<=>@\[\\\]^_`{|}~]"
"""Symbols that code, tables and addresses have more of than prose."""
_row_of_number: Final = _RowOfNumber()
