"""Whatever a request says in any argument of any operation, it is no bug of the server."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hostile_values import N_SAMPLED, TEXTS, json_values, plain_value, sampled
from served import Heard, Served
from teams import Team

from directory_indexer.indexing.options import IndexOptions
from directory_indexer.server.rest import Body, HttpOperation, Method
from directory_indexer.server.rest.operation_table import OPERATIONS, PAGE_OPERATIONS
from directory_indexer.server.rest.operation_table.page import OPERATIONS_OF_PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_ANY = dict(json_values())
_TEXTS = {name: json.dumps(text) for name, text in TEXTS.items()}
_REQUESTS_OF_THE_PAGE: Mapping[str, Mapping[str, Any]] = {
    "/ui/session": {"code": "x"},
    "/ui/open": {"doc_id": "x", "how": "editor", "line": 1, "page": 1, "allow": True},
}
_HEADERS = (
    "Authorization",
    "Content-Length",
    "Content-Type",
    "Cookie",
    "Host",
    "Idempotency-Key",
    "Origin",
    "Sec-Fetch-Site",
    "traceparent",
    "X-Dirindex-Page",
    "X-Request-Id",
)


class _Place:
    """The subjects of requests, and the two servers that they are sent to."""

    def __init__(self, directory: Path) -> None:
        docs = directory / "docs"
        docs.mkdir()
        (docs / "note.md").write_text("# Kolibri\n\nA bird.\n")
        (docs / "code.py").write_text("def kolibri():\n    return 1\n")
        self.team = Team(directory / "data", DIRINDEX_SERVING__REQUESTS_PER_SECOND="100000")
        self.team.app.runs.indexer.index(
            [str(docs)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None
        )
        sent = self.team.add("A text about a kolibri.", filename="sent.md")
        self.samples = {"path": str(docs), "query": "kolibri", "pattern": "kolibri", "doc_id": sent.document.doc_id}

    def given(self, operation: HttpOperation) -> dict[str, str]:
        """Return what a request has to say, as JSON."""
        schema = operation.schema
        plain = {name: plain_value(schema["properties"][name]) for name in schema.get("required", ())}
        return {name: json.dumps(self.samples.get(name, value)) for name, value in plain.items()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Place]:
    place = _Place(tmp_path_factory.mktemp("place"))
    yield place
    place.team.close()


@pytest.fixture(scope="module")
def plain(place: _Place) -> Iterator[Served]:
    with Served(place.team) as served:
        yield served


@pytest.fixture(scope="module")
def page(place: _Place) -> Iterator[Served]:
    with Served(place.team, has_page=True) as served:
        yield served


def _arguments(operation: HttpOperation) -> Mapping[str, Any]:
    properties: dict[str, Any] = operation.schema["properties"]
    return properties


def _values(operation: HttpOperation, name: str) -> Mapping[str, str]:
    """Return what an argument can be given: what does not come in a body is a text, whatever it is."""
    return _ANY if operation.has_json_body and f"{{{name}}}" not in operation.path else _TEXTS


def _ask(served: Served, operation: HttpOperation, arguments: Mapping[str, str]) -> Heard:
    """Send arguments that are written as JSON where the operation takes them."""
    left = dict(arguments)
    path = re.sub(r"{(\w+)}", lambda match: str(json.loads(left.pop(match[1]))), operation.path)
    headers = {
        header: str(json.loads(left.pop(name))) for name, header in operation.header_arguments.items() if name in left
    }
    if operation.has_json_body:
        return served.ask(operation.method, path, body=_object(left), headers=headers)
    query = "&".join(f"{name}={_quoted(json.loads(value))}" for name, value in left.items())
    body = b"A kolibri." if operation.argument_place is Body.BYTES else b""
    return served.ask(operation.method, path, query, body=body, headers=headers)


def _object(members: Mapping[str, str]) -> bytes:
    """Write an object of values that are JSON already."""
    return f"{{{', '.join(f'{json.dumps(name)}: {value}' for name, value in members.items())}}}".encode()


def _quoted(value: object) -> str:
    return quote(str(value).encode("utf-8", "surrogatepass"))


def _cases(operation: HttpOperation, *, is_sampled: bool) -> Iterator[tuple[str, str, str]]:
    """Yield an argument, the name of a value and the value as JSON."""
    for number, name in enumerate(_arguments(operation), PAGE_OPERATIONS.index(operation)):
        values = _values(operation, name)
        for case, value in (sampled(values, number) if is_sampled else values).items():
            yield name, case, value


def _failures(
    place: _Place, served: Served, operation: HttpOperation, *, is_sampled: bool
) -> list[tuple[str, str, Heard]]:
    return [
        (name, case, heard)
        for name, case, value in _cases(operation, is_sampled=is_sampled)
        if (heard := _ask(served, operation, {**place.given(operation), name: value})).is_failure
    ]


@pytest.mark.parametrize("operation", PAGE_OPERATIONS, ids=lambda operation: operation.name)
def test_no_argument_of_an_operation_makes_it_fail(
    place: _Place, plain: Served, page: Served, operation: HttpOperation
) -> None:
    served = page if operation in OPERATIONS_OF_PAGE else plain
    assert not _failures(place, served, operation, is_sampled=True)
    assert not served.log.bugs


@pytest.mark.slow
@pytest.mark.parametrize("operation", PAGE_OPERATIONS, ids=lambda operation: operation.name)
def test_no_value_of_any_argument_of_an_operation_makes_it_fail(
    place: _Place, plain: Served, page: Served, operation: HttpOperation
) -> None:
    served = page if operation in OPERATIONS_OF_PAGE else plain
    assert not _failures(place, served, operation, is_sampled=False)
    assert not served.log.bugs


@pytest.mark.parametrize("operation", [one for one in OPERATIONS if one.run_json_lines], ids=lambda one: one.name)
def test_no_argument_of_a_line_makes_a_request_of_many_fail(
    place: _Place, plain: Served, operation: HttpOperation
) -> None:
    lines = [
        _object({**place.given(operation), name: value})
        for name in _arguments(operation)
        for case, value in _ANY.items()
        if "megabyte" not in case
    ]
    headers = {"Content-Type": "application/x-ndjson"}
    heard = plain.ask(operation.method, operation.path, body=b"\n".join(lines), headers=headers)
    assert not heard.is_failure
    answers = [json.loads(line)["status_code"] for line in heard.body.splitlines()]
    assert len(answers) == len(lines)
    assert max(answers) < 500
    assert not plain.log.bugs


def test_so_many_arguments_and_values_are_tried() -> None:
    n_arguments = sum(len(_arguments(operation)) for operation in PAGE_OPERATIONS)
    sampled_cases = [case for operation in PAGE_OPERATIONS for case in _cases(operation, is_sampled=True)]
    assert n_arguments > 130
    assert len(sampled_cases) == n_arguments * N_SAMPLED
    assert {case for _, case, _ in sampled_cases} == _ANY.keys()
    assert sum(len([*_cases(operation, is_sampled=False)]) for operation in PAGE_OPERATIONS) > 4000


@pytest.mark.parametrize("path", _REQUESTS_OF_THE_PAGE)
def test_no_request_of_the_page_itself_fails(page: Served, path: str) -> None:
    plain = {name: json.dumps(value) for name, value in _REQUESTS_OF_THE_PAGE[path].items()}
    for name in plain:
        for case, value in _ANY.items():
            assert not page.ask("POST", path, body=_object({**plain, name: value})).is_failure, (name, case)
    assert not page.log.bugs


@pytest.mark.parametrize("header", _HEADERS)
def test_no_header_makes_a_request_fail(plain: Served, page: Served, header: str) -> None:
    for served in (plain, page):
        for case, text in TEXTS.items():
            heard = served.ask("POST", "/api/v1/ingest", body=b'{"text": "Kolibri."}', headers={header: text})
            assert not heard.is_failure, case
        assert not served.log.bugs


@pytest.mark.parametrize("name", TEXTS)
def test_the_name_of_an_argument_may_be_anything(plain: Served, name: str) -> None:
    body = json.dumps({"query": "kolibri", TEXTS[name]: 1}).encode()
    assert not plain.ask("POST", "/api/v1/search", body=body).is_failure
    assert not plain.ask("GET", "/api/v1/outline", f"path=note.md&{_quoted(TEXTS[name])}=1").is_failure


@pytest.mark.parametrize("operations", [OPERATIONS, PAGE_OPERATIONS], ids=["serve", "ui"])
def test_every_page_that_a_server_lists_can_be_opened(
    place: _Place, plain: Served, page: Served, operations: tuple[HttpOperation, ...]
) -> None:
    served = page if operations is PAGE_OPERATIONS else plain
    listed = served.ask("GET", "/openapi.json").json["paths"]
    paths = [path for path, methods in listed.items() if Method.GET.lower() in methods]
    assert {"/docs", "/openapi.json", "/api/v1/documents/{doc_id}"} <= set(paths)
    for path in paths:
        filled = re.sub(r"{(\w+)}", lambda match: place.samples.get(match[1], "x"), path)
        assert not served.ask("GET", filled).is_failure, path
    assert served.ask("GET", "/docs").status == 200


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize(
    ("path", "argument"),
    [
        ("/api/v1/search", "globs"),
        ("/api/v1/search", "query"),
        ("/api/v1/directories/look", "path"),
        ("/api/v1/ingest", "metadata"),
    ],
)
def test_what_is_no_text_is_refused_by_name(page: Served, path: str, argument: str, text: str) -> None:
    value = {"globs": [text], "metadata": {"tags": [{text: 1}]}}.get(argument, text)
    plain = {"/api/v1/search": {"query": "x"}, "/api/v1/ingest": {"text": "x"}}.get(path, {})
    heard = page.ask("POST", path, body=json.dumps({**plain, argument: value}).encode())
    assert heard.status == 422
    words = "NUL" if "\0" in text else "an unpaired surrogate"
    assert heard.json["detail"] == f"'{argument}' contains {words}"
