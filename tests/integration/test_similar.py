"""Files like a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder

from directory_indexer.errors import IndexMismatchError
from directory_indexer.paths import file_path
from directory_indexer.searching.similar import SimilarFiles

if TYPE_CHECKING:
    from pathlib import Path

    from indexes import Index


def test_a_model_that_makes_longer_vectors_than_before_is_an_error(index: Index, tmp_path: Path) -> None:
    index.write("a.md", "Boil the carrots with ginger.")
    index.run()
    other = tmp_path / "other.md"
    other.write_text("Serve the soup hot.", encoding="utf-8")
    longer = FakeEmbedder(index.embedder.dimensions + 1)
    similar = SimilarFiles(
        docstore=index.docstore,
        nearest=index.nearest,
        embedder=lambda _: longer,
        parse_policy=index.parse_policy,
    )
    with pytest.raises(IndexMismatchError, match="dimensions"):
        similar.find(file_path(other), within=(), limit=3)
