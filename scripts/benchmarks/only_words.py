"""Index by words alone, as `dirindex index` does before all else: `only_words.py DATA_DIR DIRECTORY...`."""

from __future__ import annotations

import sys
from pathlib import Path

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.indexing.options import IndexOptions


def main() -> None:
    data_dir, *directories = sys.argv[1:]
    loaded = load_config(file=None, data_dir=Path(data_dir), environ={})
    indexing = loaded.config.indexing._replace(embedding=EmbeddingMode.OFF.value)
    app = App(loaded._replace(config=loaded.config._replace(indexing=indexing)))
    app.indexer.index(
        directories, options=IndexOptions(has_consent=True), listener=lambda _: None, stop_reason=lambda: None
    )


if __name__ == "__main__":
    main()
