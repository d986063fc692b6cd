"""Serialisation of OCR results, and their validating parser for untrusted bytes.

Damaged or oversized content is rejected.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

from directory_indexer.scans import WHOLE, Box, Line, Recognition, Word

MAX_BYTES: Final = 64_000_000
"""Decompression limit: half a million words with their positions take half of it."""


def packed(recognition: Recognition) -> bytes:
    """Pack a result; of an oversized one, the first lines."""
    lines = [[line.block, [[*word[:2], *(word.box or ())] for word in line.words]] for line in recognition.lines]
    written = json.dumps([recognition.engine, recognition.dpi, recognition.turn, lines], ensure_ascii=False).encode(
        "utf-8", "replace"
    )
    if len(written) > MAX_BYTES:
        return packed(recognition._replace(lines=recognition.lines[: len(lines) // 2]))
    return zlib.compress(written)


def unpacked(content: object) -> Recognition:
    """Parse a packed result.

    Raises:
        ValueError: it is invalid.
    """
    try:
        written = _bounded(content)
        engine, dpi, turn, lines = json.loads(written)
        if turn not in _TURNS:
            raise ValueError(turn)
        return Recognition(_text(engine), tuple(map(_line, lines)), _number(dpi), turn)
    except (TypeError, RecursionError, MemoryError, zlib.error) as error:
        raise ValueError(f"no page: {error}") from error


def _bounded(content: Any) -> bytes:
    unpacking = zlib.decompressobj()
    written = unpacking.decompress(content, MAX_BYTES)
    if not unpacking.eof:
        raise ValueError("cut off, or more than a page has")
    return written


def _line(values: Any) -> Line:
    block, words = values
    return Line(tuple(map(_word, words)), _number(block))


def _word(values: Any) -> Word:
    text, confidence, *box = values
    places = [_number(value, WHOLE) for value in box]
    return Word(_text(text), _number(confidence, 100), Box._make(places) if places else None)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: object, largest: int = 1 << 31) -> int:
    if not isinstance(value, int) or not 0 <= value <= largest:
        raise ValueError(value)
    return value


_TURNS: Final = frozenset({0, 90, 180, 270})
