"""A full disk is an error, and not the end of the process: what is mapped into memory is allocated before."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import full_disk
import pytest

from directory_indexer.core.errors import DiskFullError, VectorsLostError, VectorStoreError
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.vectors.engine import translated_errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@pytest.mark.parametrize(("role", "refused_by"), [("vectors", "VectorStoreError"), ("database", "DiskFullError")])
def test_an_index_on_a_full_file_system_in_memory_is_refused_and_read_when_there_is_room(
    tmp_path: Path, role: str, refused_by: str
) -> None:
    tried = [*_NAMESPACE, "mount", "-t", "tmpfs", "test", os.fspath(tmp_path)]
    if sys.platform != "linux" or subprocess.run(tried, capture_output=True, check=False).returncode:
        pytest.skip("may not mount anything")

    done = subprocess.run(
        [*_NAMESPACE, sys.executable, full_disk.__file__, role, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert done.returncode == 0, done.stderr
    refusal, after = done.stdout.splitlines()
    assert refusal.startswith(refused_by)
    assert "free some disk space" in refusal
    assert after == "read"


@pytest.mark.parametrize("open_it", [DocStore, lambda path: DocStore(path).transaction().__enter__()])
def test_a_database_on_a_full_disk_of_small_blocks_is_not_mapped_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_it: Callable[[Path], object]
) -> None:
    full = os.statvfs_result((1024, 1024, 1000, 10, 10, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)

    with pytest.raises(DiskFullError, match="no space left"):
        open_it(tmp_path / "data.db")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        Exception("Service runtime error: No space left on device (os error 28)"),
    ],
)
def test_vectors_that_the_engine_has_no_room_to_open_are_not_lost(error: Exception) -> None:
    with pytest.raises(VectorStoreError) as raised, translated_errors("read vectors", VectorsLostError):
        raise error

    assert type(raised.value) is VectorStoreError
    assert raised.value.hint == "free some disk space"
