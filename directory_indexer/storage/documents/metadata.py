"""Metadata of documents, by the names used in queries: `author`, `from`, `tag`."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, well_formed
from directory_indexer.formats.document import Metadata
from directory_indexer.storage.databases.stored_values import parse_stored
from directory_indexer.storage.documents import SnapshotQueries, TableWrites

with lazily:
    import datetime as dt

_QUERY_NAMES: Final = {
    "authors": "author",
    "language": "lang",
    "tags": "tag",
    "sender": "from",
    "recipients": "to",
    "copied": "cc",
    "n_pages": "pages",
}
METADATA_NAMES: Final = {field: _QUERY_NAMES.get(field, field) for field in Metadata._fields}
"""The fields of `Metadata` and their names in the index and in queries."""

_FIELDS: Final = {name: field for field, name in METADATA_NAMES.items()}
_MAX_VALUES: Final = 32
_MAX_CHARACTERS: Final = 500


def fold_value(value: str) -> str:
    """Return a value normalised for comparison: without case, accents or extra white space."""
    if value.isascii():
        return " ".join(value.casefold().split())
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", value) if not unicodedata.combining(sign))
    return " ".join(plain.casefold().split())


class DocumentMetadata(SnapshotQueries):
    """The metadata of one snapshot."""

    def metadata_of(self, paths: Iterable[FilePath]) -> dict[FilePath, Metadata]:
        """Return the metadata of these documents; those without any are omitted."""
        by_path: dict[FilePath, dict[str, list[str]]] = {}
        query = """SELECT f.path, m.name, m.value FROM files f JOIN metadata m ON m.file_id = f.id
            WHERE f.path IN ({})"""
        for path, name, value in self._rows_for(query, paths):
            field = parse_stored("metadata.name", _FIELDS.__getitem__, name)
            by_path.setdefault(path, {}).setdefault(field, []).append(value)
        return {path: parse_stored("metadata.value", _metadata, values) for path, values in by_path.items()}


class MetadataWrites(TableWrites):
    """Writes to the metadata of documents."""

    def put(self, file_id: int, metadata: Metadata) -> None:
        """Replace the metadata of a file."""
        self._execute("DELETE FROM metadata WHERE file_id = ?", file_id)
        self.add([(file_id, metadata)])

    def add(self, files: Iterable[tuple[int, Metadata]]) -> None:
        """Insert the metadata of files that have none yet, each by its row."""
        nothing = Metadata()
        self._connection.executemany(
            "INSERT OR IGNORE INTO metadata (file_id, name, value, folded) VALUES (?, ?, ?, ?)",
            [
                (file_id, name, value, fold_value(value))
                for file_id, metadata in files
                if metadata != nothing
                for name, value in _metadata_rows(metadata)
            ],
        )

    def copy(self, file_id: int, other_id: int) -> None:
        """Replace the metadata of a file with that of another one."""
        self._execute("DELETE FROM metadata WHERE file_id = ?", file_id)
        self._execute(
            """INSERT INTO metadata (file_id, name, value, folded)
               SELECT ?, name, value, folded FROM metadata WHERE file_id = ?""",
            file_id,
            other_id,
        )


def date_of_metadata(metadata: Metadata) -> float | None:
    """Return the date of a document in seconds since the epoch: its last change; for a message, when it was sent."""
    moments = map(_epoch_seconds, (metadata.modified, metadata.created))
    return next((seconds for seconds in moments if seconds is not None), None)


def _epoch_seconds(value: str) -> float | None:
    for missing in ("", "-01", "-01-01"):
        try:
            moment = dt.datetime.fromisoformat(value + missing)
        except ValueError:
            continue
        with contextlib.suppress(ValueError, OverflowError, OSError):  # the time zone database does not cover the year
            return moment.astimezone().timestamp()
    return None


def _metadata_rows(metadata: Metadata) -> Iterator[tuple[str, str]]:
    for field, value in zip(metadata._fields, metadata, strict=True):
        if value:
            values = value if isinstance(value, tuple) else (value,)
            for item in values[:_MAX_VALUES]:
                yield METADATA_NAMES[field], well_formed(str(item))[:_MAX_CHARACTERS]


def _metadata(values: dict[str, list[str]]) -> Metadata:
    fields: dict[str, object] = {}
    nothing = Metadata()
    for field, items in values.items():
        default = getattr(nothing, field)
        fields[field] = tuple(items) if isinstance(default, tuple) else items[0]
    n_pages = fields.pop("n_pages", None)
    return Metadata(**fields)._replace(n_pages=int(str(n_pages)) if n_pages else None)  # type: ignore[arg-type]
