"""What documents say about themselves, by the names that people ask for: `author`, `from`, `tag`."""

from __future__ import annotations

import contextlib
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from directory_indexer.databases.stored_values import parse_stored
from directory_indexer.docstore.reading import Reading, batches, marks
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, well_formed

with lazily:
    import datetime as dt

    from directory_indexer.extractors.document import Metadata

NAMES: Final = {
    "authors": "author",
    "created": "created",
    "modified": "modified",
    "language": "lang",
    "subject": "subject",
    "tags": "tag",
    "sender": "from",
    "recipients": "to",
    "copied": "cc",
    "message_id": "message_id",
    "thread": "thread",
    "n_pages": "pages",
}
"""The fields of `Metadata` and what they are called in the index and in queries."""

_FIELDS: Final = {name: field for field, name in NAMES.items()}
_MAX_VALUES: Final = 32
_MAX_CHARACTERS: Final = 500


def folded(value: str) -> str:
    """Write a value as values are compared: without case, accents or white space around words."""
    if value.isascii():
        return " ".join(value.casefold().split())
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", value) if not unicodedata.combining(sign))
    return " ".join(plain.casefold().split())


class DocumentMetadata(Reading):
    """The metadata of one moment."""

    def of(self, paths: Iterable[FilePath]) -> dict[FilePath, Metadata]:
        """Give what some files say about themselves; those that say nothing are left out."""
        found: dict[FilePath, dict[str, list[str]]] = {}
        for batch in batches(paths):
            rows = self._connection.execute(
                f"""SELECT f.path, m.name, m.value FROM files f JOIN metadata m ON m.file_id = f.id
                    WHERE f.path IN ({marks(batch)})""",  # noqa: S608
                batch,
            )
            for path, name, value in rows:
                field = parse_stored("metadata.name", _FIELDS.__getitem__, name)
                found.setdefault(path, {}).setdefault(field, []).append(value)
        return {path: parse_stored("metadata.value", _metadata, values) for path, values in found.items()}


class MetadataWrites:
    """Note what documents say about themselves."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, file_id: int, metadata: Metadata) -> None:
        """Note the metadata of a file, in the place of what was noted before."""
        self._connection.execute("DELETE FROM metadata WHERE file_id = ?", (file_id,))
        self.add([(file_id, metadata)])

    def add(self, files: Iterable[tuple[int, Metadata]]) -> None:
        """Note the metadata of files, each by its row, of which nothing was noted before."""
        nothing = Metadata()
        self._connection.executemany(
            "INSERT OR IGNORE INTO metadata (file_id, name, value, folded) VALUES (?, ?, ?, ?)",
            [
                (file_id, name, value, folded(value))
                for file_id, metadata in files
                if metadata != nothing
                for name, value in _rows(metadata)
            ],
        )

    def copy(self, file_id: int, other_id: int) -> None:
        """Note of a file what was noted of another one, in the place of what was noted before."""
        self._connection.execute("DELETE FROM metadata WHERE file_id = ?", (file_id,))
        self._connection.execute(
            """INSERT INTO metadata (file_id, name, value, folded)
               SELECT ?, name, value, folded FROM metadata WHERE file_id = ?""",
            (file_id, other_id),
        )


def dated_at(metadata: Metadata) -> float | None:
    """Give the time of a document in seconds since the epoch: its last change, of a message when it was sent."""
    moments = map(_seconds, (metadata.modified, metadata.created))
    return next((seconds for seconds in moments if seconds is not None), None)


def _seconds(value: str) -> float | None:
    for missing in ("", "-01", "-01-01"):
        try:
            moment = dt.datetime.fromisoformat(value + missing)
        except ValueError:
            continue
        with contextlib.suppress(ValueError, OverflowError, OSError):  # the zone of a year that no clock knows
            return moment.astimezone().timestamp()
    return None


def _rows(metadata: Metadata) -> Iterator[tuple[str, str]]:
    for field, value in zip(metadata._fields, metadata, strict=True):
        if value:
            values = value if isinstance(value, tuple) else (value,)
            for one in values[:_MAX_VALUES]:
                yield NAMES[field], well_formed(str(one))[:_MAX_CHARACTERS]


def _metadata(values: dict[str, list[str]]) -> Metadata:
    fields: dict[str, object] = {}
    nothing = Metadata()
    for field, found in values.items():
        default = getattr(nothing, field)
        fields[field] = tuple(found) if isinstance(default, tuple) else found[0]
    n_pages = fields.pop("n_pages", None)
    return Metadata(**fields)._replace(n_pages=int(str(n_pages)) if n_pages else None)  # type: ignore[arg-type]
