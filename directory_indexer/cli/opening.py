"""Open the index that the configuration names."""

from __future__ import annotations

import os
from pathlib import Path

from directory_indexer.cli.output import Output
from directory_indexer.errors import NotIndexedError
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.app import App
    from directory_indexer.config import load_config


def open_existing_app(config: Path | None, data_dir: Path | None, output: Output) -> App:
    """Open an index for a command that must not make one.

    Raises:
        NotIndexedError: there is none.
    """
    app = open_app(config, data_dir, output)
    _require_index(app.loaded.config.storage.sqlite_path)
    return app


def open_app(config: Path | None, data_dir: Path | None, output: Output) -> App:
    """Open the index, which need not be there yet."""
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    output.notes(loaded.warnings)
    return App(loaded)


def _require_index(database: Path) -> None:
    if not database.exists():
        raise NotIndexedError(f"there is no index in '{database.parent}'", hint="dirindex index PATH makes one")
