"""Embedding beside a process: who has nothing to embed of its own leaves the work to others."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import pytest

from directory_indexer.config import load_config
from directory_indexer.core.lock import write_lock
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.background_runs import EmbeddingProcess, EmbeddingWork, embedding_command
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.timeout(60)
def test_who_embeds_one_directory_leaves_the_rest_of_the_index_to_others(tmp_path: Path) -> None:
    has_looked = threading.Event()

    def nothing_waits() -> EmbeddingWork:
        has_looked.set()
        return EmbeddingWork(0, is_locked=False)

    process = EmbeddingProcess(
        command=[sys.executable, "-c", ""],
        waiting=nothing_waits,
        lock_path=tmp_path / "embed.lock",
        releases_when_idle=True,
    )
    process.start()
    assert has_looked.wait(30)
    with write_lock(tmp_path / "embed.lock", wait=True):
        process.stop()


def test_the_command_names_the_directories_that_it_embeds(tmp_path: Path) -> None:
    loaded = load_config(file=None, data_dir=tmp_path / "data", environ={})
    docs = file_path(tmp_path / "docs")
    assert embedding_command(loaded, IndexScope((docs,)))[-2:] == ("--", str(docs))
    assert embedding_command(loaded, WHOLE_INDEX)[-1] == "--"
