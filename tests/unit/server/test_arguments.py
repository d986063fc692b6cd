"""Arguments of tools: what models write is understood, and what cannot be meant is refused in one line."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.search.requests import SearchMode
from directory_indexer.server.bridge.mcp_server import LOCAL_TOOLS, ConvertFileArguments
from directory_indexer.server.mcp.arguments import (
    ALIASES,
    ArgumentError,
    ContentArguments,
    ConvertArguments,
    IndexCall,
    InfoArguments,
    SearchCall,
    SimilarArguments,
    argument_aliases,
    parse_arguments,
)
from directory_indexer.server.mcp.executor import TOOLS
from directory_indexer.server.rest.arguments import IngestCall, UrlCall
from directory_indexer.server.rest.operation_table import OPERATIONS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"limit": "3"}, SearchCall("x", limit=3)),
        ({"limit": 3.0}, SearchCall("x", limit=3)),
        ({"limit": None, "mode": None}, SearchCall("x")),
        ({"nothing": None}, SearchCall("x")),
        ({"facets": "true"}, SearchCall("x", facets=True)),
        ({"types": "py"}, SearchCall("x", types=("py",))),
        ({"types": '["py", "md"]'}, SearchCall("x", types=("py", "md"))),
        ({"globs": "[a"}, SearchCall("x", globs=("[a",))),
        ({"mode": "keyword"}, SearchCall("x", mode=SearchMode.KEYWORD)),
    ],
)
def test_what_models_write_for_a_value_is_understood(given: dict[str, Any], expected: SearchCall) -> None:
    assert parse_arguments(SearchCall, {"query": "x", **given}) == expected


@pytest.mark.parametrize(
    ("record", "of", "given", "expected"),
    [
        (SearchCall, "search", {"query": "x", "top_k": 3}, SearchCall("x", limit=3)),
        (SearchCall, "search", {"query": "x", "collection": "a"}, SearchCall("x", collections=("a",))),
        (SearchCall, "search", {"query": "x", "collection": "a", "collections": "a"},
         SearchCall("x", collections=("a",))),
        (SearchCall, "search", {"query": "x", "top_k": 3, "limit": 3}, SearchCall("x", limit=3)),
        (SearchCall, "search", {"query": "x", "top_k": None}, SearchCall("x")),
        (ConvertArguments, "convert_to_text", {"uri": "file:///a.md"}, ConvertArguments("file:///a.md")),
        (ConvertFileArguments, "convert_to_text", {"uri": "a.md"}, ConvertFileArguments("a.md")),
        (IngestCall, "ingest", {"text": "x", "metadata": {"collection": "a", "filename": None}},
         IngestCall("x", "a", metadata={"collection": "a", "filename": None})),
        (UrlCall, "ingestUrl", {"url": "x", "metadata": {"collection": "a"}},
         UrlCall("x", "a", metadata={"collection": "a"})),
    ],
)  # fmt: skip
def test_an_argument_goes_by_the_name_that_other_systems_have_for_it(
    record: type, of: str, given: dict[str, Any], expected: object
) -> None:
    assert parse_arguments(record, given, of=of) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"top_k": 3, "limit": 4}, "'limit' is '4' and 'top_k' is '3'"),
        ({"collection": "a", "collections": ["b"]}, "'collections' is '['b']' and 'collection' is 'a'"),
        ({"top_k": 51}, "'top_k' is '51'; it must be an integer from 1 to 50"),
        ({"collection": 5}, "'collection' is '5'; it must be a text of 1 to 63 characters"),
        ({"uri": "a"}, "unknown argument 'uri'"),
    ],
)
def test_an_argument_that_contradicts_its_other_name_is_refused_with_both_values(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        parse_arguments(SearchCall, {"query": "x", **given}, of="search")


def test_every_other_name_stands_for_an_argument_of_a_tool_or_operation() -> None:
    tools = {(entry.name, entry.arguments) for entry in TOOLS}
    tools |= {(entry.name, entry.arguments) for entry in LOCAL_TOOLS.values()}
    called = tools | {(one.name, one.arguments) for one in OPERATIONS}
    called |= {tool[:2] for one in OPERATIONS for tool in one.tools}
    used = {alias for name, record in called for alias in argument_aliases(record, name)}
    assert used == set(ALIASES)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": None}, "the argument 'query' is missing"),
        ({"query": ""}, "'query' is ''; it must be a text of 1 to 20000 characters"),
        (
            {"query": "x" * 20_001},
            f"'query' is '{'x' * 80}…' (20001 characters); it must be a text of 1 to 20000 characters",
        ),
        ({"query": 5}, "'query' is '5'; it must be a text of 1 to 20000 characters"),
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
        parse_arguments(SearchCall, {"query": "x", **given})
    assert words in refusal.value.message
    assert "\n" not in refusal.value.message
    assert refusal.value.message.encode()


@given(
    st.sampled_from([SearchCall, SimilarArguments, ContentArguments, IndexCall, InfoArguments]),
    st.dictionaries(
        st.sampled_from(["query", "path", "limit", "mode", "cursor", "types", "wait_seconds", "facets", "x"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.integers()),
    ),
)
def test_arguments_are_read_or_refused_whatever_they_are(record: type, given: dict[str, Any]) -> None:
    with contextlib.suppress(ArgumentError):
        assert isinstance(parse_arguments(record, given), record)
