"""What people paste is found: the files of a stack trace at their lines, and the message of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from indexes import Index
from pasted_texts import FILES, TEXTS, Pasted

from directory_indexer.searching.answers import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    directory = tmp_path_factory.mktemp("pasted")
    index = Index(root=directory / "tree", data_dir=directory / "data")
    for name, text in FILES.items():
        index.write(name, text)
    index.run()
    yield index
    index.close()


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
@pytest.mark.parametrize("pasted", TEXTS, ids=lambda pasted: pasted.name)
def test_the_first_hit_of_a_pasted_text_is_what_it_is_about(shop: Index, pasted: Pasted, mode: SearchMode) -> None:
    result = shop.searcher.search(shop.request(pasted.text, mode=mode))
    assert not result.is_weak
    first = result.hits[0]
    assert first.path.removeprefix(f"{shop.root}/") == pasted.file
    if pasted.line:
        assert first.excerpt.line == pasted.line
