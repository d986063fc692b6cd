"""Files of a backup on their way into a data directory: opened safely, copied beside their place, and examined.

Others may be able to write to a backup. Its files are opened component by component below its directory, so no link
leads out of it, and the copy, which nobody else can change, is what is examined.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final, Self

from directory_indexer.databases.copying import ANOTHER_BACKUP, log_ahead, require_expected
from directory_indexer.docstore import damage, schema
from directory_indexer.errors import StoreError, UsageError
from directory_indexer.nofollow import Passage, create_file, make_directory
from directory_indexer.page_cache import make_tables as make_page_tables
from directory_indexer.permissions import directory_mode, file_mode
from directory_indexer.policies import PAGES_NAME
from directory_indexer.registry import repairs
from directory_indexer.registry.schema import make_tables as make_registry_tables
from directory_indexer.registry.store import Registry
from directory_indexer.team.manifest import (
    CONFIGURATION,
    DATABASE,
    MANIFEST,
    REGISTRY,
    BackupFile,
    Manifest,
    parsed_manifest,
)

if TYPE_CHECKING:
    import sqlite3

_MAX_MANIFEST_BYTES: Final = 1 << 28
_PIECE_BYTES: Final = 1 << 20
_DATABASES: Final[Mapping[str, Callable[[sqlite3.Connection, int], None]]] = {
    DATABASE: schema.make_tables,
    PAGES_NAME: make_page_tables,
    PurePosixPath(REGISTRY).name: make_registry_tables,
}
"""The functions that create the tables of the databases of a backup, by the names of their files."""


class BackupSource:
    """Read access to a backup; no link is followed."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(os.path.expanduser(path)))
        self._passage = Passage()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._passage.close()

    def manifest(self) -> Manifest:
        """Read the manifest of the backup.

        Raises:
            UsageError: it is not a backup.
            StoreError: it names a file that no backup has.
        """
        try:
            with self._open(MANIFEST) as file:
                content = file.read(_MAX_MANIFEST_BYTES)
        except OSError as error:
            hint = "name a directory that dirindex backup wrote"
            raise UsageError(f"'{self.path}' is not a backup", hint=hint) from error
        return parsed_manifest(content, where=str(self.path))

    def copy(self, name: BackupFile, size: int, target: Path) -> None:
        """Copy a file to a new path, with its time stamps, and flush it to the disk.

        Raises:
            StoreError: it has changed since the backup.
        """
        with (
            self._open_unchanged(name, size) as file,
            open(create_file(str(target), file_mode()), "wb") as copy,
        ):
            shutil.copyfileobj(file, copy, _PIECE_BYTES)
            copy.flush()
            status = os.fstat(file.fileno())
            is_same = os.fstat(copy.fileno()).st_size == size
            os.fsync(copy.fileno())
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        if not is_same:
            raise self._changed_error(name)

    @contextlib.contextmanager
    def _open_unchanged(self, name: BackupFile, size: int) -> Iterator[BinaryIO]:
        try:
            file = self._open(name)
        except OSError as error:
            raise self._changed_error(name) from error
        with file:
            if os.fstat(file.fileno()).st_size != size:
                raise self._changed_error(name)
            yield file

    def _open(self, name: str) -> BinaryIO:
        descriptor = self._passage.open_file(os.path.join(self.path, *name.split("/")))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise IsADirectoryError(name)
        return os.fdopen(descriptor, "rb")

    def _changed_error(self, name: str) -> StoreError:
        return StoreError(f"'{self.path / name}' is not as it was backed up", hint=ANOTHER_BACKUP)


def place_in(root: Path, parts: tuple[str, ...]) -> Path:
    """Create the directories of a file below a private root, and return its path."""
    place = root
    for part in parts:
        make_directory(str(place), directory_mode())
        place /= part
    return place


def examine(name: BackupFile, copy: Path) -> None:
    """Ensure that dirindex can have written the copy of a database.

    Raises:
        StoreError: it cannot.
    """
    make = _DATABASES.get(copy_name := PurePosixPath(name).name)
    if make is None or name == CONFIGURATION:
        return
    require_expected(copy, make, name=name)
    if copy_name == DATABASE:
        damage.require_harmless(copy, name=name)
    log_ahead(copy)
    if name == REGISTRY:
        _examine_registry(copy)


def _examine_registry(copy: Path) -> None:
    with contextlib.closing(Registry(copy)) as registry:
        if damaged := repairs.damage_in(registry):
            raise StoreError(
                f"'{REGISTRY}' of the backup holds a row that dirindex does not write: {damaged[0].column}",
                hint=ANOTHER_BACKUP,
            )
