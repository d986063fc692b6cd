"""Lines of the stored texts, for grep: chunks that share a line are joined into ranges of whole lines."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from directory_indexer.chunking.chunks import LineCut
from directory_indexer.storage.documents import SnapshotQueries

_NO_ROW: Final = 1 << 62


class LineRange(NamedTuple):
    """Whole lines of the text that a file owns, in UTF-8, from a line and a character on."""

    file_id: int
    start_line: int
    start_char: int
    text: bytes


class PackedText(NamedTuple):
    """The text that a file owns, as it is stored; two that are equal have the same text."""

    rows: tuple[_Row, ...]

    @property
    def n_characters(self) -> int:
        """The length of the text."""
        return max((row.end_char for row in self.rows), default=0)

    def unpack(self) -> str:
        """Return the text."""
        return _join_chunks(self.rows).text.decode()


class ChunkPrefilter(NamedTuple):
    """The FTS5 expressions of the chunks that may contain a matching line.

    `chunk_expression` is matched against each chunk, `line_part_expression` against chunks that share a line: it
    matches one of those that a line spans. Chunks after `last_row` may contain anything.
    """

    chunk_expression: str
    line_part_expression: str
    last_row: int = _NO_ROW


class LineRanges(SnapshotQueries):
    """The lines of one snapshot."""

    def whole_text(self, file_id: int) -> list[LineRange]:
        """Return the text that a file owns, as a list of one range; an empty list if it owns no text."""
        packed = self.packed(file_id)
        return [_join_chunks(packed.rows)] if packed.rows else []

    def packed(self, file_id: int) -> PackedText:
        """Return the text that a file owns as it is stored."""
        rows = self._select(f"{_SELECT_CHUNKS} WHERE c.file_id = ? ORDER BY c.ordinal", file_id)
        return PackedText(tuple(map(_Row._make, rows)))

    def candidates(self, lookup: ChunkPrefilter) -> list[LineRange]:
        """Return the ranges that may contain a matching line."""
        return self._ranges_of_chunks(_SELECT_CANDIDATES, lookup._asdict())

    def expand_to_lines(self, chunk_ids: Iterable[int]) -> list[LineRange]:
        """Return the whole lines around these chunks, joined with the chunks that share a line with them."""
        return self._ranges_of_chunks("SELECT value AS id FROM json_each(:ids)", {"ids": json.dumps(list(chunk_ids))})

    def file_of_chunk_with_words(self, lookup: ChunkPrefilter) -> dict[int, int]:
        """Return the chunks that may have the words whole, each with the file that owns it."""
        query = f"SELECT id, file_id FROM chunks WHERE id IN ({_SELECT_WITH_WORDS})"  # noqa: S608 - made of constants
        return dict(self._connection.execute(query, lookup._asdict()))

    def files_matching(self, pattern: re.Pattern[bytes], file_of_chunk: Mapping[int, int]) -> set[int]:
        """Return those of the files that own these chunks in which one of the chunks matches a pattern."""
        query = "SELECT id, text FROM chunk_texts WHERE id IN (SELECT value FROM json_each(?))"
        file_ids: set[int] = set()
        for id_, stored in self._select(query, json.dumps(sorted(file_of_chunk))):
            if file_of_chunk[id_] not in file_ids and pattern.search(_unpack_bytes(stored)):
                file_ids.add(file_of_chunk[id_])
        return file_ids

    def _ranges_of_chunks(self, candidates: str, arguments: dict[str, object]) -> list[LineRange]:
        ranges = _SELECT_RANGES.format(candidates=candidates)
        query = f"{_SELECT_CHUNKS} JOIN ({ranges}) s ON c.id >= s.first AND c.id < s.beyond ORDER BY c.id"
        rows = map(_Row._make, self._connection.execute(query, arguments))
        return [_join_chunks(list(group)) for _, group in groupby(rows, key=_make_line_group_key())]


class _Row(NamedTuple):
    file_id: int
    start_line: int
    start_char: int
    end_char: int
    line_cut: int
    text: bytes | str


def _make_line_group_key() -> Callable[[_Row], int]:
    """Return a function that maps chunks sharing a line to the same number."""
    number = 0

    def number_of(row: _Row) -> int:
        nonlocal number
        number += row.line_cut == LineCut.NONE
        return number

    return number_of


def _join_chunks(group: Sequence[_Row]) -> LineRange:
    first = group[0]
    text = _unpack_bytes(first.text)
    if len(group) > 1:
        parts, end = [text], first.end_char
        for row in group[1:]:
            part = _unpack_bytes(row.text)
            if end > row.start_char:
                part = part.decode()[end - row.start_char :].encode()
            parts.append(part)
            end = max(end, row.end_char)
        text = b"".join(parts)
    return LineRange(first.file_id, first.start_line, first.start_char, text)


def _unpack_bytes(stored: bytes | str) -> bytes:
    return stored.encode() if isinstance(stored, str) else zlib.decompress(stored)


_SELECT_CHUNKS = """SELECT c.file_id, c.start_line, c.start_char, c.end_char, c.line_cut, t.text
    FROM chunks c JOIN chunk_texts t ON t.id = c.id"""

_SHARES_A_LINE = "EXISTS (SELECT 1 FROM chunks n WHERE n.id IN (f.rowid, f.rowid + 1) AND n.line_cut > 0)"
_SELECT_WITH_WORDS = """
    SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH :chunk_expression
    UNION SELECT id FROM chunks WHERE id > :last_row
"""
_SELECT_CANDIDATES = f"""{_SELECT_WITH_WORDS}
    UNION SELECT rowid FROM chunks_fts f WHERE chunks_fts MATCH :line_part_expression AND {_SHARES_A_LINE}
    UNION SELECT id FROM chunks WHERE line_cut = 2
    UNION SELECT id - 1 FROM chunks WHERE line_cut = 2
"""  # noqa: S608 - made of constants
_SELECT_RANGES = f"""SELECT DISTINCT
    (SELECT b.id FROM chunks b WHERE b.id <= k.id AND b.line_cut = 0 ORDER BY b.id DESC LIMIT 1) AS first,
    coalesce(
        (SELECT a.id FROM chunks a WHERE a.id > k.id AND a.line_cut = 0 ORDER BY a.id LIMIT 1), {_NO_ROW}
    ) AS beyond
    FROM ({{candidates}}) k"""  # noqa: S608 - made of constants
"""The chunks of a file have consecutive rows, and the first one begins with a line."""
