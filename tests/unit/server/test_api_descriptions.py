"""What the API says of itself is true of the table that answers, and valid."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from directory_indexer.core.rights import Right
from directory_indexer.server.mcp import record_schema
from directory_indexer.server.mcp.executor import TOOLS
from directory_indexer.server.rest import HttpOperation, Router
from directory_indexer.server.rest.documentation import DOCS_PATH, OPENAPI_PATH, documentation_pages
from directory_indexer.server.rest.operation_table import OPERATIONS

PAGES = documentation_pages(OPERATIONS)
DOCUMENT: dict[str, Any] = json.loads(PAGES[OPENAPI_PATH].content)


def _described(operation: HttpOperation) -> dict[str, Any]:
    described: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return described


def test_the_document_is_valid() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"] == "3.1.0"


def test_it_shows_the_other_names_of_arguments_and_other_paths() -> None:
    search = DOCUMENT["components"]["schemas"]["SearchCall"]["properties"]
    assert (search["top_k"]["minimum"], search["top_k"]["maximum"]) == (1, 50)
    assert search["collection"]["type"] == "string"
    assert "Also at /api/v1/ingest-url." in DOCUMENT["paths"]["/api/v1/ingest_url"]["post"]["description"]


def test_it_has_every_operation_and_no_other() -> None:
    described = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert described == {(operation.method, operation.path) for operation in OPERATIONS}
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_argument_is_described_with_its_limits(operation: HttpOperation) -> None:
    described = _described(operation)
    for name, schema in operation.schema["properties"].items():
        assert schema["description"], name
        assert "maxLength" in schema or "pattern" in schema or schema["type"] != "string" or "enum" in schema, name
        told = operation.header_arguments.get(name, name)
        in_place = [one for one in described.get("parameters", ()) if one["name"] == told]
        assert in_place or name in DOCUMENT["components"]["schemas"][operation.arguments.__name__]["properties"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_answer_says_when_it_comes(operation: HttpOperation) -> None:
    answers = _described(operation)["responses"]
    assert str(operation.status) in answers
    if operation.required_right is not None:
        assert {"401", "403", "429", "500", "503"} <= set(answers)
    if operation.has_json_body:
        assert {"400", "413", "415", "422"} <= set(answers)
    assert set(map(str, operation.other_successes)) <= set(answers)
    assert all("content" not in answers[status] for status in {"204", "304"} & set(answers))
    assert all(answer["description"] for answer in answers.values())


def test_every_field_of_an_answer_is_described() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert schema["description"], name
        for field, described in schema["properties"].items():
            assert described["description"], f"{name}.{field}"


def test_what_tools_and_the_api_both_take_is_described_alike() -> None:
    search = record_schema(next(tool.arguments for tool in TOOLS if tool.name == "search"))["properties"]
    api = next(one.schema for one in OPERATIONS if one.name == "search")["properties"]
    shared = set(search) & set(api)
    assert len(shared) > 8
    assert {name: search[name]["description"] for name in shared} == {name: api[name]["description"] for name in shared}


def test_what_changes_something_needs_more_than_to_read() -> None:
    for operation in OPERATIONS:
        only_asks = operation.method == "GET" or operation.name in {"search", "grep"}
        assert (operation.required_right in {Right.WRITE, Right.ADMIN}) is not only_asks, operation.name
        is_of_all = operation.path.startswith("/api/v1/admin/") or operation.name in {
            "putCollection",
            "deleteCollection",
        }
        assert (operation.required_right is Right.ADMIN) is is_of_all, operation.name


def test_links_lead_to_operations_by_arguments_that_they_take() -> None:
    named = {operation.name: operation for operation in OPERATIONS}
    for operation in OPERATIONS:
        for other, given in operation.links.items():
            assert set(given) <= set(named[other].arguments._fields)  # type: ignore[attr-defined]


def test_paths_are_told_apart() -> None:
    surface = Router(OPERATIONS)
    for operation in OPERATIONS:
        found = surface.find(re.sub(r"{\w+}", "x", operation.path))
        assert found is not None
        assert found.operations[operation.method] is operation
        assert all(surface.find(path) == found for path in operation.path_aliases)
    assert surface.find("/api/v1/documents/a/b") is None
    assert surface.find("/api/v1/files/a/b") is None
    assert surface.find("/api/v1/search/") is None
    assert surface.find("/API/v1/search") is None
    route = surface.route_of("/api/v1/search", "BREW")
    assert route is not None
    assert (route.path_template, route.required_right) == ("/api/v1/search", Right.READ)


class _Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: set[str] = set()
        self.targets: set[str] = set()
        self.style = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.addresses |= {value for name in ("href", "src") if (value := given.get(name))}
        self.targets |= {f"#{value}" for name in ("id",) if (value := given.get(name))}
        assert not any(name.startswith("on") for name in given)

    def handle_data(self, data: str) -> None:
        if self.get_starttag_text() == "<style>" and not self.style:
            self.style = data


def test_the_page_needs_nothing_from_anywhere_and_runs_nothing() -> None:
    page = PAGES[DOCS_PATH]
    reader = _Reader()
    reader.feed(page.content.decode())
    assert not reader.tags & {"script", "img", "link", "iframe", "form", "object"}
    assert {one for one in reader.addresses if not one.startswith("#")} == {OPENAPI_PATH}
    assert {one for one in reader.addresses if one.startswith("#")} <= reader.targets
    policy = page.headers["Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(reader.style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_the_page_shows_every_operation() -> None:
    text = PAGES[DOCS_PATH].content.decode()
    for operation in OPERATIONS:
        assert f"{operation.method} {operation.path}" in text
