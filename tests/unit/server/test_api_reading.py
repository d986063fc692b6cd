"""What a request to the API may say: exactly what its schema allows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.search.requests import SearchMode
from directory_indexer.server.middleware.request_context import RefusedError
from directory_indexer.server.rest.messages import arguments_in_query, parse_body, validate_call
from directory_indexer.server.rest.operation_table import OPERATIONS

if TYPE_CHECKING:
    from directory_indexer.server.rest import HttpOperation


def _operation(name: str) -> HttpOperation:
    return next(one for one in OPERATIONS if one.name == name)


SEARCH, DOCUMENTS, DOCUMENT = map(_operation, ("search", "listDocuments", "getDocument"))
DOC_ID = "n754elrxpvcpiuozjdmrtazj"


@pytest.mark.parametrize(
    ("content", "media_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"null", "application/json", 400),
        (b"1", "application/json", 400),
        (b'{"query": NaN}', "application/json", 400),
        (b'{"limit": 1' + b"0" * 5000 + b"}", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"query": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "application/json", 400),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "application/json", 400),
        (b"{}", "", 415),
        (b"{}", "text/plain", 415),
        (b"query=x", "application/x-www-form-urlencoded", 415),
        (b"{}", "application/jsonx", 415),
    ],
)
def test_what_is_no_json_object_is_refused(content: bytes, media_type: str, status: int) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_body(content, media_type=media_type)
    assert refused.value.problem.status == status


@pytest.mark.parametrize(
    "content", [b'{"a": 1, "a": "x"}', b'{"b": {"a": 1, "a": "x"}}', b'{"c": [{"a": 1, "a": "x"}]}']
)
def test_a_name_that_is_given_twice_is_refused_with_both_values(content: bytes) -> None:
    with pytest.raises(UsageError, match="'a' is given twice: '1' and 'x'"):
        parse_body(content, media_type="application/json")


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON; charset=utf-8"])
def test_a_json_object_is_read(media_type: str) -> None:
    assert parse_body(b'{"query": "a"}', media_type=media_type) == {"query": "a"}
    assert parse_body(b"", media_type="") == {}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"query": None},
        {"query": ""},
        {"query": "x" * 20_001},
        {"query": 1},
        {"query": ["x"]},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 51},
        {"query": "x", "limit": "5"},
        {"query": "x", "limit": True},
        {"query": "x", "limit": 1.5},
        {"query": "x", "limit": None},
        {"query": "x", "types": "python"},
        {"query": "x", "types": ["python", 1]},
        {"query": "x", "types": ["python"] * 21},
        {"query": "x", "mode": "best"},
        {"query": "x", "facets": "true"},
        {"query": "x", "facets": 1},
        {"query": "x", "max_tokens": 500},
        {"query": "x", "Limit": 5},
    ],
)
def test_what_the_schema_does_not_allow_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        validate_call(SEARCH, given)


def test_what_the_schema_allows_is_read() -> None:
    call = validate_call(SEARCH, {"query": "x", "limit": 5.0, "types": ["python"], "mode": "keyword", "facets": False})
    assert (call.limit, call.types, call.mode, call.facets) == (5, ("python",), SearchMode.KEYWORD, False)


@pytest.mark.parametrize("lines", ["", "3", "3-", "3-7", "999999999-999999999"])
def test_a_range_is_read(lines: str) -> None:
    assert validate_call(DOCUMENT, {"doc_id": DOC_ID, "lines": lines}).lines == lines


@pytest.mark.parametrize(
    "lines", ["0", "-3", "3-0", "a", "3 - 7", "3-7-9", "1000000000", "3\n", "\N{ARABIC-INDIC DIGIT THREE}"]
)
def test_what_is_no_range_is_refused(lines: str) -> None:
    with pytest.raises(UsageError, match=r"(?s)'lines' is .*; it must be"):
        validate_call(DOCUMENT, {"doc_id": DOC_ID, "lines": lines})


@pytest.mark.parametrize("doc_id", ["", "x", DOC_ID.upper(), f"{DOC_ID}\n", f"{DOC_ID}a", "../" * 8])
def test_what_is_no_id_is_refused(doc_id: str) -> None:
    with pytest.raises(UsageError, match=r"(?s)'doc_id' is .*; it must be"):
        validate_call(DOCUMENT, {"doc_id": doc_id})


def test_a_query_string_is_read_by_the_schema() -> None:
    given = arguments_in_query(DOCUMENTS, [("limit", "7"), ("path", "7")])
    assert given == {"limit": 7, "path": "7"}
    assert arguments_in_query(SEARCH, [("facets", "true"), ("types", "a"), ("types", "b")]) == {
        "facets": True,
        "types": ["a", "b"],
    }


@pytest.mark.parametrize("text", ["", " 7", "7.0", "1e1", "0x7", "\N{ARABIC-INDIC DIGIT SEVEN}", "9" * 5000])
def test_a_number_in_a_query_string_is_written_in_one_way(text: str) -> None:
    with pytest.raises(UsageError, match=r"'limit' is .*; it must be"):
        validate_call(DOCUMENTS, arguments_in_query(DOCUMENTS, [("limit", text)]))


def test_an_argument_that_is_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        arguments_in_query(DOCUMENTS, [("limit", "7"), ("limit", "8")])


def test_errors_do_not_repeat_what_is_too_long() -> None:
    with pytest.raises(UsageError) as error:
        validate_call(SEARCH, {"query": "x", "y" * 10_000: 1})
    assert len(json.dumps(str(error.value))) < 1000
