"""Phrases, exclusions and headings bind every hit, also those that only meaning finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.records import SearchMode

if TYPE_CHECKING:
    from indexes import Index

_TEXTS = {
    "red.md": "# Boats\n\nA red boat lies in the harbour.\n",
    "blue.md": "# Boats\n\nA blue boat lies in the harbour.\n",
    "walk.md": "# Walks\n\nA walk along the harbour to the boat, which is red.\n",
}


@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ('harbour "red boat"', {"red.md"}),
        ("harbour -red", {"blue.md"}),
        ("harbour heading:boats", {"red.md", "blue.md"}),
        ("harbour -heading:boats", {"walk.md"}),
    ],
)
def test_no_mode_finds_what_the_query_rules_out(index: Index, query: str, wanted: set[str], mode: SearchMode) -> None:
    for name, text in _TEXTS.items():
        index.write(name, text)
    index.run()
    assert set(index.names(query, mode=mode)) == wanted
