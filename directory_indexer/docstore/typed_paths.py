"""Lookup of files and directories by a part of their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.docstore.filters import within_condition
from directory_indexer.docstore.reading import Reading
from directory_indexer.files import SkipReason
from directory_indexer.paths import FilePath


class MetFile(NamedTuple):
    """A file that a run has found; without text, `reason` says why."""

    id: int
    path: FilePath
    is_indexed: bool
    reason: str
    mtime_ns: int


NAMED_WITHOUT_TEXT = (
    *(SkipReason.BINARY, SkipReason.EMPTY, SkipReason.ENCRYPTED, SkipReason.NO_TEXT, SkipReason.TOO_LARGE),
)
"""Skipped files that can be found by name. Those with secrets cannot: that one exists is confidential."""

_NAMED = f"""(state IN ('indexed', 'failed')
    OR (state = 'skipped' AND reason IN ({", ".join(f"'{reason}'" for reason in NAMED_WITHOUT_TEXT)})))"""
_IS_OTHER_THAN_ASCII = "length(path) != length(CAST(path AS BLOB))"


class TypedPaths(Reading):
    """The paths of files in one snapshot."""

    def met_with(self, texts: Sequence[str]) -> list[MetFile]:
        """Return files whose paths contain all of these texts in any case, and all paths with non-ASCII characters.

        LIKE folds the case of ASCII only, and takes half the time of `instr(lower(path))`.
        """
        likes = " AND ".join(["path LIKE ?"] * len(texts)) or "TRUE"
        rows = self._connection.execute(
            f"""SELECT id, path, state = 'indexed', iif(state = 'failed', 'failed', reason), mtime_ns FROM files
                WHERE (({likes}) OR {_IS_OTHER_THAN_ASCII}) AND {_NAMED}""",  # noqa: S608 - made of constants
            [f"%{text}%" for text in texts],
        )
        return [MetFile(id_, FilePath(path), bool(is_indexed), *rest) for id_, path, is_indexed, *rest in rows]

    def met_in(self, directory: FilePath, *, limit: int) -> tuple[list[FilePath], int]:
        """Return the first files at any depth of a directory, and the number of all of them."""
        condition, arguments = within_condition(directory)
        source = f"FROM files f WHERE {condition} AND container_id IS NULL AND {_NAMED}"
        rows = self._connection.execute(f"SELECT path {source} ORDER BY path LIMIT ?", [*arguments, limit])
        return [FilePath(path) for (path,) in rows], self._count(f"SELECT count(*) {source}", arguments)

    def starting_with(self, text: str) -> list[FilePath]:
        """Return the indexed files whose paths begin with a text."""
        return self._select_indexed("path >= ? AND path < ?", [text, text + chr(0x10FFFF)])

    def containing(self, text: str) -> list[FilePath]:
        """Return the indexed files whose paths contain a text, in any case."""
        return self._select_indexed("instr(lower(path), lower(?))", [text])

    def ending_with(self, text: str) -> list[FilePath]:
        """Return the indexed files whose paths end with a text."""
        return self._select_indexed("substr(path, -length(?)) = ?", [text, text])

    def called(self, names: Sequence[str]) -> list[FilePath]:
        """Return the indexed files that have one of these names."""
        own_name = "replace(path, rtrim(path, replace(path, ?, '')), '')"
        condition = f"{own_name} IN (SELECT value FROM json_each(?))"  # noqa: S608 - made of constants
        return self._select_indexed(condition, [os.sep, json.dumps(list(names))])

    def in_other_case(self, paths: Sequence[FilePath]) -> list[FilePath]:
        """Return the indexed files that have one of these paths, in any case."""
        return self._select_indexed(f"lower(path) IN ({','.join(['lower(?)'] * len(paths))})", paths)

    def _select_indexed(self, condition: str, arguments: Sequence[object]) -> list[FilePath]:
        rows = self._connection.execute(
            f"SELECT path FROM files WHERE state = 'indexed' AND {condition}",  # noqa: S608 - made of constants
            arguments,
        )
        return [FilePath(path) for (path,) in rows]
