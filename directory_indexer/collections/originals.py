"""Storage of the originals of the documents of one collection, byte for byte as they were sent.

An original is written beside its place, flushed to the disk, and renamed into place, while a marker file records that
the document is being written: recovery checks the documents with markers of dead processes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import blake3

from directory_indexer.config import directory_of_document
from directory_indexer.core.errors import ContentRefusedError, DiskFullError, NotIndexedError, RefusalReason, StoreError
from directory_indexer.core.ids import DocId, doc_id
from directory_indexer.core.kept_files import directory_mode, file_mode, is_disk_full, sync_path
from directory_indexer.core.lock import HeldLock, try_lock
from directory_indexer.core.paths import FilePath, exact_text, file_path
from directory_indexer.core.safe_open import open_file

_HASH_BYTES: Final = 16
_PIECE_BYTES: Final = 1 << 20
_MARKER_SUFFIX: Final = ".mark"


class ReceivedContent(NamedTuple):
    """Content that was written, and is not in its place yet; `content_hash` is BLAKE3, in hexadecimal digits."""

    path: Path
    n_bytes: int
    content_hash: str
    mtime_ns: int


class Originals:
    """The originals in a directory, and beside it those being written."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(os.path.realpath(directory))
        self._incoming = self.directory.parent / "incoming"
        self._replaced = self.directory.parent / "replaced"

    def path_of(self, doc_id: DocId, name: str) -> FilePath:
        """Return the path of an original."""
        return file_path(directory_of_document(doc_id, self.directory) / name)

    @contextlib.contextmanager
    def receive(
        self, doc_id: DocId, name: str, pieces: Iterable[bytes], *, max_bytes: int
    ) -> Iterator[ReceivedContent]:
        """Write received content to a temporary file; its document is marked as being written until the block ends.

        Raises:
            ContentRefusedError: it has more than `max_bytes` bytes.
            StoreError: it cannot be written, as on a full disk.
        """
        with self.mark_in_progress(doc_id) as place:
            path = place / name
            with _translated_errors():
                place.mkdir(mode=directory_mode())
                n_bytes, content_hash = _write_hashed(path, pieces, max_bytes)
                received = ReceivedContent(path, n_bytes, content_hash, path.stat().st_mtime_ns)
            yield received

    def publish(self, received: ReceivedContent, doc_id: DocId) -> None:
        """Move content into its place, replacing an original of the same name."""
        with _translated_errors():
            place = directory_of_document(doc_id, self.directory)
            is_new = not place.is_dir()
            place.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
            os.replace(received.path, place / received.path.name)
            sync_path(place)
            if is_new:
                sync_path(place.parent)
                sync_path(self.directory)

    def keep_replaced(self, doc_id: DocId, name: str) -> None:
        """Keep the original that is being replaced, so that it can be restored."""
        with _translated_errors():
            backup = self._replaced / doc_id
            shutil.rmtree(backup, ignore_errors=True)
            backup.mkdir(mode=directory_mode(), parents=True)
            with contextlib.suppress(FileNotFoundError):
                _link_or_copy(directory_of_document(doc_id, self.directory) / name, backup / name)

    def has_replaced(self, doc_id: DocId, name: str) -> bool:
        """Whether a replaced original was kept and can be restored."""
        return (self._replaced / doc_id / name).is_file()

    def restore_replaced(self, doc_id: DocId, name: str) -> None:
        """Restore a replaced original."""
        with _translated_errors():
            place = directory_of_document(doc_id, self.directory)
            draft = self._replaced / doc_id / f"{name}.back"
            draft.unlink(missing_ok=True)
            _link_or_copy(self._replaced / doc_id / name, draft)
            os.replace(draft, place / name)
            sync_path(place)

    def remove_replaced(self, doc_id: DocId) -> None:
        """Remove the replaced originals of a document."""
        shutil.rmtree(self._replaced / doc_id, ignore_errors=True)

    def documents_with_replaced(self) -> list[DocId]:
        """Return the documents with a replaced original."""
        names = (place.name for place in self._replaced.iterdir()) if self._replaced.is_dir() else ()
        return [known for name in names if (known := doc_id(name))]

    def keep_only(self, doc_id: DocId, name: str) -> None:
        """Remove the originals of a document with other names."""
        with _translated_errors():
            for file in self._original_files_of(doc_id):
                if file.name != name:
                    file.unlink(missing_ok=True)

    def paths_of(self, doc_id: DocId) -> list[FilePath]:
        """Return the paths of all originals of a document."""
        return [file_path(file) for file in self._original_files_of(doc_id)]

    def remove(self, doc_id: DocId) -> None:
        """Remove all originals of a document."""
        with _translated_errors():
            place = directory_of_document(doc_id, self.directory)
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(place)
            # Another document may be moved into the parent directory meanwhile.
            with contextlib.suppress(OSError):
                place.parent.rmdir()
        self.remove_replaced(doc_id)

    def clear_interrupted_marks(self) -> Iterator[DocId]:
        """Yield the documents that dead processes were writing, and remove their markers one by one."""
        marks = sorted(self._incoming.glob(f"*{_MARKER_SUFFIX}")) if self._incoming.is_dir() else ()
        for mark in marks:
            with contextlib.suppress(FileNotFoundError):
                lock = try_lock(mark, exclusive=True)
                if lock is None:
                    continue
                with lock:
                    if known := doc_id(mark.name.partition("-")[0]):
                        yield known
                    shutil.rmtree(mark.with_suffix(""), ignore_errors=True)
                    mark.unlink(missing_ok=True)

    def mark_for_recovery(self, doc_id: DocId) -> None:
        """Mark a document for the next recovery."""
        with _translated_errors():
            self._incoming.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
            _, lock = self._create_marker(doc_id)
        lock.release()

    @contextlib.contextmanager
    def mark_in_progress(self, doc_id: DocId) -> Iterator[Path]:
        """Mark a document as being written until the block ends, and yield a directory for temporary files."""
        with _translated_errors():
            self._incoming.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
            self.directory.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
            mark, lock = self._create_marker(doc_id)
        place = mark.with_suffix("")
        with lock:
            with _translated_errors():
                sync_path(self._incoming)
            try:
                yield place
            finally:
                shutil.rmtree(place, ignore_errors=True)
                mark.unlink(missing_ok=True)

    def _create_marker(self, doc_id: DocId) -> tuple[Path, HeldLock]:
        """Create and lock a marker: recovery may remove one that is not locked yet."""
        while True:
            mark = self._incoming / f"{doc_id}-{secrets.token_hex(8)}{_MARKER_SUFFIX}"
            if lock := try_lock(mark, exclusive=True):
                if mark.exists():
                    return mark, lock
                lock.release()

    def _original_files_of(self, doc_id: DocId) -> list[Path]:
        place = directory_of_document(doc_id, self.directory)
        return sorted(place.iterdir()) if place.is_dir() else []


def original_too_large(max_bytes: int) -> ContentRefusedError:
    """Return the refusal of a document with more than `max_bytes` bytes."""
    return ContentRefusedError(
        RefusalReason.TOO_LARGE,
        f"the document has more than {max_bytes:,} bytes",
        hint="send a smaller one, or raise indexing.max_file_size",
    )


def open_original(path: FilePath) -> BinaryIO:
    """Open an original for reading; links are not followed.

    Raises:
        NotIndexedError: it does not exist.
    """
    try:
        return open(open_file(exact_text(path)), "rb")
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            raise
        raise NotIndexedError("the original of this document is gone", hint="send it again") from error


def read_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a file piece by piece."""
    while piece := file.read(_PIECE_BYTES):
        yield piece


def hash_of_file(path: Path) -> str:
    """Return the hash of a file, as of received content."""
    hasher = blake3.blake3()
    with path.open("rb") as file:
        for piece in read_pieces(file):
            hasher.update(piece)
    return hasher.hexdigest(length=_HASH_BYTES)


def _write_hashed(path: Path, pieces: Iterable[bytes], most_bytes: int) -> tuple[int, str]:
    hasher, n_bytes = blake3.blake3(), 0
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, file_mode()), "wb") as file:
        for piece in pieces:
            n_bytes += len(piece)
            if n_bytes > most_bytes:
                raise original_too_large(most_bytes)
            hasher.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return n_bytes, hasher.hexdigest(length=_HASH_BYTES)


def _link_or_copy(path: Path, copy: Path) -> None:
    """Create a hard link, or a copy with the same time stamps if that is impossible."""
    try:
        os.link(path, copy)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(path, copy)


@contextlib.contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = DiskFullError if is_disk_full(error) else StoreError
        raise kind(
            f"a document cannot be kept: {error.filename or 'the disk'}: {error.strerror}",
            hint="free some disk space, or choose another place with --data-dir, and send it again",
        ) from error
