"""Schemas of records, what assistants get of them, and budgets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from directory_indexer.api import Only, to_json_object
from directory_indexer.server.lifecycle import INSTRUCTIONS
from directory_indexer.server.mcp import (
    count_json_tokens,
    largest_number_that_fits,
    record_schema,
    record_to_object,
)
from directory_indexer.server.mcp.arguments import IN_COLLECTION
from directory_indexer.server.mcp.executor import TOOLS
from directory_indexer.server.mcp.tool_results import describe_tools


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(NamedTuple):
    number: Annotated[int, "A number."]


class Example(NamedTuple):
    text: Annotated[str, "A text.", Field(min_length=1, max_length=5)]
    page: Annotated[int | None, "A page.", Field(ge=1, le=9)]
    secret: Annotated[str, "Not for models.", Only.PROGRAMS]
    colour: Annotated[Colour, "A colour."] = Colour.RED
    names: Annotated[tuple[str, ...], "Names.", Field(max_length=2)] = ()
    inner: Annotated[tuple[Inner, ...], "More."] = ()
    counts: Annotated[Mapping[str, int] | None, "Counts."] = None
    is_on: Annotated[bool, "A switch."] = False


def test_a_schema_says_everything_without_references_unions_and_nulls() -> None:
    assert record_schema(Example) == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "A text.", "minLength": 1, "maxLength": 5},
            "page": {"type": "integer", "description": "A page.", "minimum": 1, "maximum": 9},
            "colour": {"type": "string", "enum": ["red", "blue"], "description": "A colour.", "default": "red"},
            "names": {"type": "array", "items": {"type": "string"}, "description": "Names.", "maxItems": 2},
            "inner": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"number": {"type": "integer", "description": "A number."}},
                    "required": ["number"],
                },
                "description": "More.",
            },
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "Counts."},
            "is_on": {"type": "boolean", "description": "A switch.", "default": False},
        },
        "required": ["text"],
    }


def test_programs_get_every_key_and_models_what_says_something() -> None:
    example = Example("x", None, "s", inner=(Inner(0),))
    assert to_json_object(example) == {
        "text": "x",
        "page": None,
        "secret": "s",
        "colour": "red",
        "names": [],
        "inner": [{"number": 0}],
        "is_on": False,
    }
    assert record_to_object(example) == {"text": "x", "inner": [{"number": 0}]}
    assert record_to_object(example._replace(is_on=True, counts={"a": 0}))["counts"] == {"a": 0}


def test_every_tool_is_described_for_a_model_that_never_saw_it() -> None:
    assert len(INSTRUCTIONS) < 2000
    for entry in TOOLS:
        assert 60 < len(entry.description) < 600
        assert entry.answer is not None
        arguments, result = record_schema(entry.arguments), record_schema(entry.answer)
        assert all(one["description"] for one in (arguments["properties"] | result["properties"]).values())
        assert not any(word in json.dumps([arguments, result]) for word in ("anyOf", "$ref", "null"))


def test_the_list_of_tools_costs_a_model_no_more_than_6_kb() -> None:
    listed = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in describe_tools(TOOLS)]
    size = len(json.dumps({"tools": listed}, ensure_ascii=False, separators=(",", ":")).encode())
    assert size <= 6_144


def test_an_argument_that_is_listed_without_its_meaning_has_it_in_a_tool_above() -> None:
    told = {"collection": IN_COLLECTION}
    for entry, tool in zip(TOOLS, describe_tools(TOOLS), strict=True):
        assert any(sign in entry.description for sign in ("Use it", "related")), entry.name
        meant = record_schema(entry.arguments)["properties"]
        assert list(meant) == list(tool.input_schema["properties"])
        for name, listed in tool.input_schema["properties"].items():
            said = listed.get("description") or told[name]
            assert said == meant[name]["description"]
            told[name] = said


@given(st.text())
def test_a_token_is_three_bytes_of_json(text: str) -> None:
    size = len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
    assert count_json_tokens(text) * 3 >= size > (count_json_tokens(text) - 1) * 3


@given(st.integers(0, 200), st.integers(0, 250))
def test_as_many_as_fit_are_found(most: int, limit: int) -> None:
    assert largest_number_that_fits(most, lambda n: n <= limit) == min(most, limit)
