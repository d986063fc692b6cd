"""What a server makes ready in the background, so that the first search waits for little."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.server import _load_model
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_database_is_read_when_the_model_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = App(load_config(file=None, data_dir=tmp_path, environ={}))
    is_read = threading.Event()
    monkeypatch.setattr(DocStore, "warm_page_cache", lambda _: is_read.set())
    assert _load_model(app).space.provider == "embedded"
    assert is_read.wait(60)
    app.close()
