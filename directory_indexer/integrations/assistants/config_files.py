"""Configuration files of assistants, read defensively and written atomically, and the record of the edits in them.

A symbolic link is followed if its target is below an allowed directory; the target is replaced and the link stays. Mode
and owner are kept. A file that changed since it was read is not written.

The record is kept in the data directory so that each edit can be undone exactly. It holds the inserted and removed text
and a digest of the file after it: never other content of the file, which may include keys of other services. An edit is
recorded before it is made.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.core.errors import StoreError
from directory_indexer.core.ids import content_hash
from directory_indexer.core.kept_files import sync_path
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import lies_in
from directory_indexer.core.safe_open import open_file
from directory_indexer.integrations.assistants import EditRefusedError
from directory_indexer.integrations.assistants.formats import FormatName

with lazily:
    import tempfile

_MAX_BYTES: Final = 32 * 1024 * 1024
"""Claude Code keeps its state beside its servers, which grows to several megabytes."""

_NEW_FILE_MODE: Final = 0o600
_DRAFT: Final = ".dirindex-"


class ConfigFile(NamedTuple):
    """A file as it was read; a missing one has no stamp and no text. `target` is its resolved path."""

    path: str
    target: str
    text: str = ""
    stamp: tuple[int, ...] | None = None
    mode: int = _NEW_FILE_MODE

    @property
    def exists(self) -> bool:
        """Whether the file exists."""
        return self.stamp is not None


def read_file(path: str, allowed: Sequence[str]) -> ConfigFile:
    """Read a file that may be missing.

    Raises:
        EditRefusedError: it is no text file of the user's below one of the directories in `allowed`.
    """
    target = os.path.realpath(path)
    if not any(lies_in(target, directory) for directory in allowed):
        raise EditRefusedError(f"it leads to '{target}', outside your home directory")
    try:
        descriptor = open_file(target)
    except FileNotFoundError:
        return ConfigFile(path, target)
    except OSError as error:
        raise EditRefusedError(f"it cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        _require_plain(status)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(_MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > _MAX_BYTES:
        raise EditRefusedError(f"it is larger than {_MAX_BYTES // 1024 // 1024} MB")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EditRefusedError(f"byte {error.start} is not UTF-8") from None
    return ConfigFile(path, target, text, _stamp(status), stat.S_IMODE(status.st_mode))


def missing_directories(file: ConfigFile) -> list[str]:
    """Return the directories that have to be created for a file, innermost first."""
    missing = []
    directory = os.path.dirname(file.target)
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    return missing


def write_file(file: ConfigFile, text: str) -> None:
    """Replace the content of a file, and create its directories.

    Raises:
        EditRefusedError: it cannot be written, or changed since it was read.
    """
    try:
        for directory in reversed(missing_directories(file)):
            os.mkdir(directory, 0o700)
        _replace(file, text)
    except OSError as error:
        raise EditRefusedError(f"it cannot be written: {error.strerror}") from error


def remove_file(file: ConfigFile, directories: Sequence[str]) -> None:
    """Remove a file, and those of the directories that become empty.

    Raises:
        EditRefusedError: it cannot be removed, or changed since it was read.
    """
    try:
        _require_unchanged(file)
        os.unlink(file.target)
    except OSError as error:
        raise EditRefusedError(f"it cannot be removed: {error.strerror}") from error
    around = (directory for directory in directories if lies_in(file.target, os.path.realpath(directory)))
    for directory in sorted(around, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(directory)


def _require_plain(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise EditRefusedError("it is not a regular file")
    if status.st_nlink > 1:
        raise EditRefusedError("it has hard links, which replacing it would break")
    if sys.platform != "win32" and os.geteuid() not in {0, status.st_uid}:
        raise EditRefusedError("it belongs to another user")


def _replace(file: ConfigFile, text: str) -> None:
    directory = os.path.dirname(file.target)
    number, draft = tempfile.mkstemp(prefix=_DRAFT, dir=directory)
    try:
        with os.fdopen(number, "wb") as draft_file:
            draft_file.write(text.encode("utf-8"))
            _copy_mode_and_owner(file, number)
            draft_file.flush()
            os.fsync(number)
        _require_unchanged(file)
        os.replace(draft, file.target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    sync_path(directory)


def _copy_mode_and_owner(file: ConfigFile, descriptor: int) -> None:
    if sys.platform == "win32":
        return
    os.fchmod(descriptor, file.mode)
    like = os.stat(file.target if file.exists else os.path.dirname(file.target))
    own = os.fstat(descriptor)
    is_of_others = (like.st_uid, like.st_gid) != (own.st_uid, own.st_gid) if file.exists else like.st_uid != own.st_uid
    if is_of_others and (file.exists or os.geteuid() == 0):  # `sudo` in somebody's home directory
        os.fchown(descriptor, like.st_uid, like.st_gid)


def _require_unchanged(file: ConfigFile) -> None:
    try:
        now = _stamp(os.lstat(file.target))
    except FileNotFoundError:
        now = None
    if now != file.stamp:
        raise EditRefusedError("another program has just changed it; try again")


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


RECORD_NAME: Final = "assistants.json"
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
        raise StoreError(f"'{data_dir / RECORD_NAME}': {error}") from error


def _file(data_dir: Path) -> ConfigFile:
    directory = os.path.realpath(data_dir)
    try:
        return read_file(os.path.join(directory, RECORD_NAME), (directory,))
    except EditRefusedError as error:
        raise StoreError(f"'{data_dir / RECORD_NAME}': {error.message}", hint="move it away") from error


def _edit(fields: dict[str, Any]) -> Edit:
    edit = Edit(**fields)
    texts = (edit.path, edit.part, edit.removed, edit.inserted, edit.after)
    if not all(isinstance(text, str) for text in texts) or not isinstance(edit.offset + edit.made, int):
        raise TypeError
    return edit._replace(format=FormatName(edit.format), keys=tuple(edit.keys), clients=tuple(edit.clients))
