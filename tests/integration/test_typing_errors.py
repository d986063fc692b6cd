"""A typing error in a query costs no hit, by words or by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index


@pytest.mark.parametrize("mode", SearchMode)
def test_a_typing_error_finds_what_the_word_finds(index: Index, mode: SearchMode) -> None:
    index.write("soup.md", "Boil carrots with ginger.\n")
    index.write("keys.md", "Rotate the signing keys.\n")
    index.run()
    right = index.searcher.search(index.request("ginger carrots", mode=mode))
    wrong = index.searcher.search(index.request("ginegr carots", mode=mode))
    assert [(hit.path, hit.score, hit.excerpt) for hit in wrong.hits] == [
        (hit.path, hit.score, hit.excerpt) for hit in right.hits
    ]
    assert wrong.corrections == (("ginegr", "ginger"), ("carots", "carrots"))
    assert right.corrections == ()


def test_a_word_that_no_file_has_any_more_is_not_searched_for(index: Index) -> None:
    index.write("soup.md", "Boil carrots.\n")
    index.write("keys.md", "Rotate the signing keys.\n")
    index.run()
    assert index.searcher.search(index.request("carots")).corrections
    (index.root / "soup.md").unlink()
    index.run()
    assert not index.searcher.search(index.request("carots")).corrections
