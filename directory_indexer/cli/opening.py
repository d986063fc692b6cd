"""Opening of the index that the configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from directory_indexer.cli.caller import current_caller
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.lazy import lazily

if TYPE_CHECKING:
    from directory_indexer.app import App

with lazily:
    from directory_indexer.collections.collections import Collections
    from directory_indexer.config import load_config


def open_existing_app(config: Path | None, data_dir: Path | None, output: Output, collection: str = "") -> App:
    """Open an index for a command that must not create one.

    Raises:
        NotIndexedError: there is none.
    """
    app = open_app(config, data_dir, output, collection)
    _require_index(app.loaded.config.storage.sqlite_path)
    return app


def open_app(config: Path | None, data_dir: Path | None, output: Output, collection: str = "") -> App:
    """Open the index of a collection, which need not exist yet; without a name, the default index.

    Raises:
        NotIndexedError: there is no such collection.
    """
    loaded = load_config(file=config, data_dir=data_dir, environ=current_caller().environ)
    output.notes(loaded.warnings)
    app = current_caller().app(loaded)
    if collection:
        current_caller().require_same_process()
    return Collections(app).app_of(collection) if collection else app


def _require_index(database: Path) -> None:
    if not database.exists():
        raise NotIndexedError(f"there is no index in '{database.parent}'", hint="dirindex index PATH makes one")
