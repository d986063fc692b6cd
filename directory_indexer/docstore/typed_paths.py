"""Indexed files by what somebody typed of their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from directory_indexer.docstore.reading import Reading
from directory_indexer.paths import FilePath


class TypedPaths(Reading):
    """The paths of indexed files at one moment."""

    def starting_with(self, text: str) -> list[FilePath]:
        """List the indexed files whose paths begin with a text."""
        return self._indexed("path >= ? AND path < ?", [text, text + chr(0x10FFFF)])

    def containing(self, text: str) -> list[FilePath]:
        """List the indexed files whose paths hold a text, in whatever case."""
        return self._indexed("instr(lower(path), lower(?))", [text])

    def ending_with(self, text: str) -> list[FilePath]:
        """List the indexed files whose paths end with a text."""
        return self._indexed("substr(path, -length(?)) = ?", [text, text])

    def called(self, names: Sequence[str]) -> list[FilePath]:
        """List the indexed files that have one of these names."""
        own_name = "replace(path, rtrim(path, replace(path, ?, '')), '')"
        condition = f"{own_name} IN (SELECT value FROM json_each(?))"  # noqa: S608 - made of constants
        return self._indexed(condition, [os.sep, json.dumps(list(names))])

    def in_other_case(self, paths: Sequence[FilePath]) -> list[FilePath]:
        """List the indexed files that have one of these paths, in whatever case."""
        return self._indexed(f"lower(path) IN ({','.join(['lower(?)'] * len(paths))})", paths)

    def _indexed(self, condition: str, arguments: Sequence[object]) -> list[FilePath]:
        rows = self._connection.execute(
            f"SELECT path FROM files WHERE state = 'indexed' AND {condition}",  # noqa: S608 - made of constants
            arguments,
        )
        return [FilePath(path) for (path,) in rows]
