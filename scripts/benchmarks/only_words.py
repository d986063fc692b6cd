"""Index by words alone, as `dirindex index` does before it embeds: `only_words.py DATA_DIR DIRECTORY...`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Never

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.embedders.building import Access
from directory_indexer.embedders.loading import Embedders
from directory_indexer.errors import ProviderError
from directory_indexer.indexing.options import IndexOptions


def _refuse(*_: object) -> Never:
    raise ProviderError("only words are wanted")


def main() -> None:
    data_dir, *directories = sys.argv[1:]
    app = App(load_config(file=None, data_dir=Path(data_dir), environ={}))
    app.embedders = Embedders(app.embedders.configured, Access(), build=_refuse)
    app.indexer.index(
        directories, options=IndexOptions(has_consent=True), listener=lambda _: None, stop_reason=lambda: None
    )


if __name__ == "__main__":
    main()
