from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from directory_indexer.server.watching import DirectoryWatch

if TYPE_CHECKING:
    from pathlib import Path

    from directory_indexer.core.paths import FilePath


def test_a_server_that_begins_without_an_index_watches_what_is_added(tmp_path: Path) -> None:
    looked = threading.Event()

    def tracked() -> list[FilePath]:
        looked.set()
        return []

    watch = DirectoryWatch(
        tracked=tracked,
        directories=lambda roots: roots,
        jobs=cast("Any", None),
        is_paused=lambda: False,
        lock_path=tmp_path / "data/watch.lock",
        data_dir=tmp_path / "data",
    )
    watch.start()
    try:
        assert looked.wait(20)
    finally:
        watch.stop()
