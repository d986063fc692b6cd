"""Texts in whole lines: neighbouring chunks that share a line are read together."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from directory_indexer.chunker.chunks import LineCut
from directory_indexer.docstore.reading import Reading

_NO_ROW: Final = 1 << 62


class Stretch(NamedTuple):
    """Whole lines of the text that a file holds, in UTF-8, from a line and a character on."""

    file_id: int
    start_line: int
    start_char: int
    text: bytes


class WordLookup(NamedTuple):
    """What chunks must hold that a line can lie in, as FTS5 expressions.

    `whole` is asked of each chunk by itself, `part` of chunks that share a line: it finds one of those that such a line
    lies in. Chunks after `last_row` may hold anything.
    """

    whole: str
    part: str
    last_row: int = _NO_ROW


class Stretches(Reading):
    """The lines of one moment."""

    def of_file(self, file_id: int) -> list[Stretch]:
        """Give a file that holds its text as one stretch; none when it has no text."""
        rows = self._connection.execute(f"{_COLUMNS} WHERE c.file_id = ? ORDER BY c.ordinal", (file_id,))
        group = list(map(_Row._make, rows))
        return [_joined(group)] if group else []

    def holding(self, lookup: WordLookup) -> list[Stretch]:
        """Give what may hold a line that is looked for."""
        rows = self._connection.execute(
            f"{_COLUMNS} JOIN ({_FOUND}) s ON c.id >= s.first AND c.id < s.beyond ORDER BY c.id",
            lookup._asdict(),
        )
        return [_joined(list(group)) for _, group in groupby(map(_Row._make, rows), key=_numbering())]


class _Row(NamedTuple):
    file_id: int
    start_line: int
    start_char: int
    end_char: int
    line_cut: int
    text: bytes | str


def _numbering() -> Callable[[_Row], int]:
    """Number chunks so that those which share a line have the same number."""
    number = 0

    def number_of(row: _Row) -> int:
        nonlocal number
        number += row.line_cut == LineCut.NONE
        return number

    return number_of


def _joined(group: Sequence[_Row]) -> Stretch:
    first = group[0]
    text = _unpacked(first.text)
    if len(group) > 1:
        parts, end = [text], first.end_char
        for row in group[1:]:
            part = _unpacked(row.text)
            if end > row.start_char:
                part = part.decode()[end - row.start_char :].encode()
            parts.append(part)
            end = max(end, row.end_char)
        text = b"".join(parts)
    return Stretch(first.file_id, first.start_line, first.start_char, text)


def _unpacked(stored: bytes | str) -> bytes:
    return stored.encode() if isinstance(stored, str) else zlib.decompress(stored)


_COLUMNS = """SELECT c.file_id, c.start_line, c.start_char, c.end_char, c.line_cut, t.text
    FROM chunks c JOIN chunk_texts t ON t.id = c.id"""

_SHARES_A_LINE = "EXISTS (SELECT 1 FROM chunks n WHERE n.id IN (f.rowid, f.rowid + 1) AND n.line_cut > 0)"
_CANDIDATES = f"""
    SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH :whole
    UNION SELECT rowid FROM chunks_fts f WHERE chunks_fts MATCH :part AND {_SHARES_A_LINE}
    UNION SELECT id FROM chunks WHERE line_cut = 2
    UNION SELECT id - 1 FROM chunks WHERE line_cut = 2
    UNION SELECT id FROM chunks WHERE id > :last_row
"""  # noqa: S608 - made of constants
_FOUND = f"""SELECT DISTINCT
    (SELECT b.id FROM chunks b WHERE b.id <= k.id AND b.line_cut = 0 ORDER BY b.id DESC LIMIT 1) AS first,
    coalesce(
        (SELECT a.id FROM chunks a WHERE a.id > k.id AND a.line_cut = 0 ORDER BY a.id LIMIT 1), {_NO_ROW}
    ) AS beyond
    FROM ({_CANDIDATES}) k"""  # noqa: S608 - made of constants
"""The chunks of a file have rows that follow each other, and its first one begins with a line."""
