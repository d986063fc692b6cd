"""What lies around a document in meaning, as a map."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.search.semantic_map import SemanticMaps

if TYPE_CHECKING:
    from indexes import Index


def _maps(index: Index) -> SemanticMaps:
    return SemanticMaps(docstore=index.docstore, nearest=index.nearest, embedder=lambda _: index.embedder)


def _index_of_soup(index: Index) -> None:
    index.write("soup.md", "Boil the carrots with ginger.")
    index.write("other-soup.md", "Boil the carrots with onions.")
    index.write("stew.md", "Boil the beef with onions slowly.")
    index.write("boats.md", "Boats lie in the harbour at night.")


def test_the_nearest_come_first_and_lie_nearest_to_the_middle(index: Index) -> None:
    _index_of_soup(index)
    index.run()
    found = _maps(index).map_of(file_path(index.root / "soup.md"), limit=10)
    names = [one.stored.path.rpartition("/")[2] for one in found.neighbours]
    assert names[0] == "other-soup.md"
    assert "soup.md" not in names
    assert set(names) == {"other-soup.md", "stew.md", "boats.md"}
    far = [hypot(one.x, one.y) for one in found.neighbours]
    assert far == sorted(far)
    assert found.topics == ("",)


def test_no_more_are_given_than_asked_for(index: Index) -> None:
    _index_of_soup(index)
    index.run()
    assert len(_maps(index).map_of(file_path(index.root / "soup.md"), limit=2).neighbours) == 2


def test_a_document_alone_has_no_neighbours(index: Index) -> None:
    index.write("soup.md", "Boil the carrots with ginger.")
    index.run()
    found = _maps(index).map_of(file_path(index.root / "soup.md"), limit=10)
    assert (found.neighbours, found.n_passages) == ((), 1)


def test_what_is_not_indexed_has_no_neighbours(index: Index) -> None:
    _index_of_soup(index)
    index.run()
    with pytest.raises(NotIndexedError):
        _maps(index).map_of(FilePath("/elsewhere.md"), limit=10)
