"""What was written into the files of assistants, kept in the data directory so that it can be undone to the byte.

Of each change the record has what it put in, what it took out and a digest of the file after it: never what else the
file holds, which may be keys of other services. A change is recorded before it is made.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.assistants.config_files import ConfigFile, read_file, write_file
from directory_indexer.assistants.entries import EditRefusedError
from directory_indexer.assistants.formats import FormatName
from directory_indexer.errors import StoreError
from directory_indexer.ids import content_hash

NAME: Final = "assistants.json"
"""The file of the data directory."""

_VERSION: Final = 1


class Edit(NamedTuple):
    """One entry that was put into a file: at an offset, text was put in the place of another."""

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
        """What two edits of one place have in common."""
        return self.path, (*self.keys, self.part)


class Record(NamedTuple):
    """All edits, oldest first; and of the files that were made for them, the directories that were made as well."""

    edits: tuple[Edit, ...] = ()
    made_files: dict[str, list[str]] = {}  # noqa: RUF012 - never changed in place

    def edit_at(self, place: tuple[str, tuple[str, ...]]) -> Edit | None:
        """Find the edit of a place."""
        return next((edit for edit in self.edits if edit.place == place), None)

    def with_edit(self, edit: Edit) -> Record:
        """Add an edit, in the place of an older one of the same place."""
        kept = tuple(one for one in self.edits if one.place != edit.place)
        return self._replace(edits=(*kept, edit))

    def with_clients(self, edit: Edit, clients: tuple[str, ...]) -> Record:
        """Let an edit be for other clients."""
        return self._replace(edits=tuple(one._replace(clients=clients) if one == edit else one for one in self.edits))

    def without_edit(self, edit: Edit) -> Record:
        """Leave out an edit, and what is known of its file if it was the last one."""
        kept = tuple(one for one in self.edits if one.place != edit.place)
        files = {path: made for path, made in self.made_files.items() if any(one.path == path for one in kept)}
        return Record(kept, files)

    def with_file_of(self, other: Record, path: str) -> Record:
        """Take over from another record all that is known of a file."""
        edits = [edit for edit in self.edits if edit.path != path]
        files = {one: made for one, made in self.made_files.items() if one != path}
        files.update({one: made for one, made in other.made_files.items() if one == path})
        return Record((*edits, *(edit for edit in other.edits if edit.path == path)), files)

    def with_made_file(self, path: str, directories: list[str]) -> Record:
        """Remember that a file was made, and which directories for it."""
        return self._replace(made_files={**self.made_files, path: directories})


def digest(text: str) -> str:
    """Return what tells a text from any other."""
    return content_hash(text.encode()).hex()


def read_record(data_dir: Path) -> Record:
    """Read the record, which may not be there.

    Raises:
        StoreError: it cannot be read.
    """
    file = _file(data_dir)
    if not file.exists:
        return Record()
    try:
        tree = json.loads(file.text)
        edits = tuple(_edit(one) for one in tree["edits"])
        return Record(edits, {str(path): list(map(str, made)) for path, made in tree["made_files"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"'{file.path}' is damaged", hint="move it away, and take out by hand what install had added"
        ) from error


def write_record(data_dir: Path, record: Record) -> None:
    """Write the record in the place of the one before.

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
