"""Schemas of tools, arguments read by them, budgets and cursors."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.server.budget import cost, most_that_fit
from directory_indexer.server.calls import ContentCall, IndexCall, InfoCall, SearchCall, SimilarCall
from directory_indexer.server.catalogue import CATALOGUE
from directory_indexer.server.cursors import Position, cursor_for, position_of
from directory_indexer.server.greeting import INSTRUCTIONS
from directory_indexer.server.shapes import ArgumentError, arguments_of, described, object_of, schema_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Inner:
    number: int = described("A number.")


@dataclass(frozen=True, slots=True)
class Example:
    text: str = described("A text.", at_least=1, at_most=5)
    colour: Colour = described("A colour.", default=Colour.RED)
    names: tuple[str, ...] = described("Names.", default=(), at_most=2)
    inner: tuple[Inner, ...] = described("More.", default=())
    page: int | None = described("A page.", default=None, at_least=1)
    is_on: bool = described("A switch.", default=False)


def test_a_schema_says_everything_without_references_unions_and_nulls() -> None:
    assert schema_of(Example) == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "A text.", "minLength": 1, "maxLength": 5},
            "colour": {"type": "string", "enum": ["red", "blue"], "description": "A colour.", "default": "red"},
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names.",
                "maxItems": 2,
                "default": [],
            },
            "inner": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"number": {"type": "integer", "description": "A number."}},
                    "required": ["number"],
                    "additionalProperties": False,
                },
                "description": "More.",
                "default": [],
            },
            "page": {"type": "integer", "description": "A page.", "minimum": 1},
            "is_on": {"type": "boolean", "description": "A switch.", "default": False},
        },
        "required": ["text"],
        "additionalProperties": False,
    }


def test_what_is_not_there_is_left_out_of_an_object() -> None:
    example = Example("x", inner=(Inner(1),))
    assert object_of(example) == {
        "text": "x",
        "colour": "red",
        "names": [],
        "inner": [{"number": 1}],
        "is_on": False,
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"text": "x", "page": "3"}, Example("x", page=3)),
        ({"text": "x", "page": 3.0}, Example("x", page=3)),
        ({"text": "x", "page": None, "colour": None}, Example("x")),
        ({"text": "x", "is_on": "true"}, Example("x", is_on=True)),
        ({"text": "x", "names": "a"}, Example("x", names=("a",))),
        ({"text": "x", "names": '["a", "b"]'}, Example("x", names=("a", "b"))),
        ({"text": "x", "colour": "blue"}, Example("x", colour=Colour.BLUE)),
    ],
)
def test_what_models_write_for_a_value_is_understood(arguments: dict[str, Any], expected: Example) -> None:
    assert arguments_of(Example, arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'text' is missing"),
        ({"text": None}, "'text' is missing"),
        ({"text": ""}, "between 1 and 5"),
        ({"text": "123456"}, "6 characters"),
        ({"text": "x", "color": "red"}, "did you mean 'colour'"),
        ({"text": "x", "zzz": 1}, "allowed are: text, colour"),
        ({"text": "x", "page": "three"}, "must be of type integer"),
        ({"text": "x", "page": 1.5}, "must be of type integer"),
        ({"text": "x", "page": True}, "must be of type integer"),
        ({"text": "x", "page": float("inf")}, "must be of type integer"),
        ({"text": "x", "page": 10**400}, "must be of type integer"),
        ({"text": "x", "page": 0}, "'page' is 0"),
        ({"text": "x", "names": ["a", "b", "c"]}, "3 entries"),
        ({"text": "x", "names": [1]}, "list of texts"),
        ({"text": 5}, "must be of type string"),
        ({"text": "x", "colour": "green"}, "one of red, blue"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_refused_by_name(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words.replace("(", "\\(")):
        arguments_of(Example, arguments)


@given(
    st.sampled_from([SearchCall, SimilarCall, ContentCall, IndexCall, InfoCall]),
    st.dictionaries(
        st.sampled_from(["query", "path", "limit", "mode", "cursor", "types", "wait_seconds", "x"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.integers()),
    ),
)
def test_arguments_are_read_or_refused_whatever_they_are(call: type, arguments: dict[str, Any]) -> None:
    with contextlib.suppress(ArgumentError):
        assert isinstance(arguments_of(call, arguments), call)


def test_every_tool_is_described_for_a_model_that_never_saw_it() -> None:
    assert len(INSTRUCTIONS) < 2000
    for entry in CATALOGUE:
        assert 80 < len(entry.description) < 600
        properties: dict[str, Any] = schema_of(entry.call)["properties"]  # type: ignore[assignment]
        assert all(one["description"] for one in properties.values())
        assert not any(word in json.dumps(schema_of(entry.result)) for word in ("anyOf", "$ref", "null"))


@given(st.text())
def test_a_token_is_three_bytes_of_json(text: str) -> None:
    size = len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
    assert cost(text) * 3 >= size > (cost(text) - 1) * 3


@given(st.integers(0, 200), st.integers(0, 250))
def test_as_many_as_fit_are_found(most: int, limit: int) -> None:
    assert most_that_fit(most, lambda n: n <= limit) == min(most, limit)


def test_a_cursor_leads_on_in_the_same_question_and_knows_when_the_index_has_changed() -> None:
    shown = (b"abc", b"def")
    cursor = cursor_for(shown, question=["a"], state="1")
    position = position_of(cursor, question=["a"])
    assert position.shown == shown
    assert (position.is_before("1"), position.is_before("2")) == (False, True)
    assert position_of("", question=["a"]) == Position()
    assert not Position().is_before("1")
    with pytest.raises(ArgumentError, match="another question"):
        position_of(cursor, question=["b"])


@given(st.text(max_size=200))
def test_a_forged_cursor_is_refused(cursor: str) -> None:
    if cursor:
        with pytest.raises(ArgumentError, match="without cursor"):
            position_of(cursor, question=["a"])
