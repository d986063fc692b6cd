"""Record of the edits in assistants' files, kept in the data directory so that each can be undone exactly.

For each edit it holds the inserted and removed text and a digest of the file after it: never other content of the file,
which may include keys of other services. An edit is recorded before it is made.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.core.errors import StoreError
from directory_indexer.core.ids import content_hash
from directory_indexer.integrations.assistants.config_files import ConfigFile, read_file, write_file
from directory_indexer.integrations.assistants.entries import EditRefusedError
from directory_indexer.integrations.assistants.formats import FormatName

NAME: Final = "assistants.json"
"""The file name in the data directory."""

_VERSION: Final = 1


class Edit(NamedTuple):
    """One entry that was inserted into a file: at an offset, one text replaced another."""

    path: str
    format: FormatName
    keys: tuple[str, ...]
    value: Any
    part: str
    clients: tuple[str, ...]
    made: int = 0
    offset: int = 0
    removed: str = ""
    inserted: str = ""
    after: str = ""

    @property
    def place(self) -> tuple[str, tuple[str, ...]]:
        """The key of the edited place, which identifies the edit."""
        return self.path, (*self.keys, self.part)


class Record(NamedTuple):
    """All edits, oldest first; and the files created for them, each with the directories created for it."""

    edits: tuple[Edit, ...] = ()
    made_files: dict[str, list[str]] = {}  # noqa: RUF012 - never changed in place

    def edit_at(self, place: tuple[str, tuple[str, ...]]) -> Edit | None:
        """Return the edit of a place."""
        return next((edit for edit in self.edits if edit.place == place), None)

    def with_edit(self, edit: Edit) -> Record:
        """Add an edit, replacing an older one of the same place."""
        kept = tuple(other for other in self.edits if other.place != edit.place)
        return self._replace(edits=(*kept, edit))

    def with_clients(self, edit: Edit, clients: tuple[str, ...]) -> Record:
        """Replace the clients of an edit."""
        return self._replace(
            edits=tuple(other._replace(clients=clients) if other == edit else other for other in self.edits)
        )

    def without_edit(self, edit: Edit) -> Record:
        """Remove an edit, and the facts of its file if it was the last one."""
        kept = tuple(other for other in self.edits if other.place != edit.place)
        files = {path: made for path, made in self.made_files.items() if any(other.path == path for other in kept)}
        return Record(kept, files)

    def with_file_of(self, other: Record, path: str) -> Record:
        """Replace all facts of a file by those of another record."""
        edits = [edit for edit in self.edits if edit.path != path]
        files = {file: made for file, made in self.made_files.items() if file != path}
        files.update({file: made for file, made in other.made_files.items() if file == path})
        return Record((*edits, *(edit for edit in other.edits if edit.path == path)), files)

    def with_made_file(self, path: str, directories: list[str]) -> Record:
        """Record that a file was created, and which directories for it."""
        return self._replace(made_files={**self.made_files, path: directories})


def digest(text: str) -> str:
    """Return a digest of a text."""
    return content_hash(text.encode()).hex()


def read_record(data_dir: Path) -> Record:
    """Read the record; a missing one is empty.

    Raises:
        StoreError: it cannot be read.
    """
    file = _file(data_dir)
    if not file.exists:
        return Record()
    try:
        tree = json.loads(file.text)
        edits = tuple(_edit(fields) for fields in tree["edits"])
        return Record(edits, {str(path): list(map(str, made)) for path, made in tree["made_files"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"'{file.path}' is damaged", hint="move it away, and remove the additions of install by hand"
        ) from error


def write_record(data_dir: Path, record: Record) -> None:
    """Replace the record.

    Raises:
        StoreError: it cannot be written.
    """
    tree = {
        "version": _VERSION,
        "edits": [edit._asdict() for edit in record.edits],
        "made_files": record.made_files,
    }
    try:
        os.makedirs(data_dir, mode=0o700, exist_ok=True)
        write_file(_file(data_dir), json.dumps(tree, indent=1) + "\n")
    except (EditRefusedError, OSError) as error:
        raise StoreError(f"'{data_dir / NAME}': {error}") from error


def _file(data_dir: Path) -> ConfigFile:
    directory = os.path.realpath(data_dir)
    try:
        return read_file(os.path.join(directory, NAME), (directory,))
    except EditRefusedError as error:
        raise StoreError(f"'{data_dir / NAME}': {error.message}", hint="move it away") from error


def _edit(fields: dict[str, Any]) -> Edit:
    edit = Edit(**fields)
    texts = (edit.path, edit.part, edit.removed, edit.inserted, edit.after)
    if not all(isinstance(text, str) for text in texts) or not isinstance(edit.offset + edit.made, int):
        raise TypeError
    return edit._replace(format=FormatName(edit.format), keys=tuple(edit.keys), clients=tuple(edit.clients))
