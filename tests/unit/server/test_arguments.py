"""Arguments of tools: what models write is understood, and what cannot be meant is refused in one line."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.searching.answers import SearchMode
from directory_indexer.server.arguments import (
    ArgumentError,
    ContentArguments,
    IndexArguments,
    InfoArguments,
    SearchArguments,
    SimilarArguments,
    arguments_of,
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"limit": "3"}, SearchArguments("x", limit=3)),
        ({"limit": 3.0}, SearchArguments("x", limit=3)),
        ({"limit": None, "mode": None}, SearchArguments("x")),
        ({"nothing": None}, SearchArguments("x")),
        ({"facets": "true"}, SearchArguments("x", facets=True)),
        ({"types": "py"}, SearchArguments("x", types=("py",))),
        ({"types": '["py", "md"]'}, SearchArguments("x", types=("py", "md"))),
        ({"globs": "[a"}, SearchArguments("x", globs=("[a",))),
        ({"mode": "keyword"}, SearchArguments("x", mode=SearchMode.KEYWORD)),
    ],
)
def test_what_models_write_for_a_value_is_understood(given: dict[str, Any], expected: SearchArguments) -> None:
    assert arguments_of(SearchArguments, {"query": "x", **given}) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": None}, "the argument 'query' is missing"),
        ({"query": ""}, "'query' is ''; it must be a text of 1 to 2000 characters"),
        (
            {"query": "x" * 2001},
            f"'query' is '{'x' * 80}…' (2001 characters); it must be a text of 1 to 2000 characters",
        ),
        ({"query": 5}, "'query' is '5'; it must be a text of 1 to 2000 characters"),
        ({"limits": 3}, "unknown argument 'limits'; did you mean 'limit'?"),
        ({"zzz": 1}, "unknown argument 'zzz'; allowed are: query, queries, path, types"),
        ({"limit": "three"}, "'limit' is 'three'; it must be an integer from 1 to 50"),
        ({"limit": 1.5}, "'limit' is '1.5'; it must be an integer from 1 to 50"),
        ({"limit": True}, "'limit' is 'True'; it must be an integer from 1 to 50"),
        ({"limit": float("inf")}, "'limit' is 'inf'; it must be an integer from 1 to 50"),
        ({"limit": 10**5000}, "'limit' is 'a number'; it must be an integer from 1 to 50"),
        ({"limit": 0}, "'limit' is '0'; it must be an integer from 1 to 50"),
        ({"types": ["a"] * 21}, "it must be a list of at most 20 texts"),
        ({"types": [1]}, "'types' is '[1]'; it must be a list of at most 20 texts"),
        ({"facets": "maybe"}, "'facets' is 'maybe'; it must be true or false"),
        ({"mode": "exact"}, "'mode' is 'exact'; it must be one of hybrid, semantic, keyword"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_refused_by_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError) as refusal:
        arguments_of(SearchArguments, {"query": "x", **given})
    assert words in refusal.value.message
    assert "\n" not in refusal.value.message
    assert refusal.value.message.encode()


@given(
    st.sampled_from([SearchArguments, SimilarArguments, ContentArguments, IndexArguments, InfoArguments]),
    st.dictionaries(
        st.sampled_from(["query", "path", "limit", "mode", "cursor", "types", "wait_seconds", "facets", "x"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.integers()),
    ),
)
def test_arguments_are_read_or_refused_whatever_they_are(record: type, given: dict[str, Any]) -> None:
    with contextlib.suppress(ArgumentError):
        assert isinstance(arguments_of(record, given), record)
