"""Several queries are one question: asked of one moment, answered in one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index


@pytest.fixture
def garden(index: Index) -> Index:
    index.write("herons.md", "# Herons\n\nHerons stand in the shallows and wait.\n")
    index.write("kettles.md", "# Kettles\n\nBoil the water in a copper kettle.\n")
    index.write("ladders.md", "# Ladders\n\nA ladder leans against the wall.\n")
    index.run()
    return index


@pytest.mark.parametrize("mode", list(SearchMode))
def test_each_query_brings_its_best_into_one_list(garden: Index, mode: SearchMode) -> None:
    answer = garden.searcher.search(garden.request("herons shallows", queries=("copper kettle",), mode=mode, limit=2))
    assert {hit.path.rpartition("/")[2] for hit in answer.hits} == {"herons.md", "kettles.md"}
    assert len({hit.chunk_id for hit in answer.hits}) == len(answer.hits)


def test_the_same_query_twice_is_asked_once(garden: Index) -> None:
    once = garden.search("herons wait")
    assert garden.search("herons wait", queries=("herons wait",)) == once


def test_a_query_may_narrow_itself_and_filters_narrow_all(garden: Index) -> None:
    own = garden.names("herons", queries=("kettle path:ladders.md",), mode=SearchMode.KEYWORD)
    assert own == ["herons.md"]
    assert garden.names("herons", queries=("kettle",), globs=("k*.md",)) == ["kettles.md"]
