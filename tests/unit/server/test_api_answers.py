"""How the API answers what a row of its table says: records, errors, and whom a collection is for."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any, NamedTuple, cast

import anyio
import pytest

from directory_indexer.core.errors import (
    ConflictError,
    ContentRefusedError,
    CorruptIndexError,
    DirIndexError,
    DiskFullError,
    LockedError,
    NotIndexedError,
    OverlapError,
    ProviderError,
    RefusalReason,
    StoreError,
    UsageError,
)
from directory_indexer.core.rights import Right
from directory_indexer.server.mcp.executor import ToolExecutor
from directory_indexer.server.middleware.request_context import RequestContext
from directory_indexer.server.rest import (
    UNKNOWN_ROUTE,
    Content,
    HttpOperation,
    Reply,
    Router,
    Services,
)
from directory_indexer.server.rest.application import Application, Idempotency
from directory_indexer.server.rest.messages import problem_of_error
from directory_indexer.storage.registry.keys import Key

SECRET_WORDS = "/home/anna/private.db"  # noqa: S105 - that must not be told


class _Named(NamedTuple):
    collection: Annotated[str, "A collection."] = "default"


class _Unnamed(NamedTuple):
    pass


class _Told(NamedTuple):
    collection: Annotated[str, "What was asked."]
    nothing: Annotated[str | None, "Nothing."] = None


_NO_TOOLS: Any = None


@dataclasses.dataclass
class _Services:
    caller: Key | None = None
    unsupported_operation_error: None = None
    executor: ToolExecutor = dataclasses.field(default_factory=lambda: ToolExecutor(_NO_TOOLS))


class _AsItComes:
    async def answered(self, _: Any, __: Any, ___: Any, answer: Any, ____: Any) -> Any:
        return await answer()


def _operation(arguments: type, answer: Any, needs: Right | None = Right.READ) -> HttpOperation:
    return HttpOperation(
        "one", "One", "One.", arguments, _Told, answer, required_right=needs, route="POST /one", status=201
    )


def _ask(operation: HttpOperation, body: object, *, collections: frozenset[str] | None = None) -> tuple[int, Any, Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    visit = RequestContext("an-id", UNKNOWN_ROUTE, Key("ann", b"", Right.ADMIN, collections))
    headers = [(b"content-type", b"application/json")]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/one", "headers": headers, "query_string": b""}
    visit.attach_to(scope)
    app = Application(Router([operation]), cast("Services", _Services()), cast("Idempotency", _AsItComes()))
    anyio.run(app, scope, receive, send)
    content = b"".join(message["body"] for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), json.loads(content) if content else None


def test_a_record_is_answered_with_the_status_of_its_row() -> None:
    operation = _operation(_Named, lambda _, call: _Told(call.collection))
    status, headers, told = _ask(operation, {"collection": "papers"})
    assert (status, told) == (201, {"collection": "papers"})
    assert headers[b"content-type"] == b"application/json"


def test_a_reply_has_a_status_and_headers_of_its_own() -> None:
    status, headers, told = _ask(_operation(_Unnamed, lambda *_: Reply(_Told("a"), 202, {"Location": "/b"})), {})
    assert (status, headers[b"location"], told) == (202, b"/b", {"collection": "a"})
    assert _ask(_operation(_Unnamed, lambda *_: Reply(None, 204, {})), {})[0::2] == (204, None)


def test_content_that_is_no_record_is_answered_as_it_is() -> None:
    _, headers, told = _ask(_operation(_Unnamed, lambda *_: Content(b"[1]", "text/x-own", {"X-A": "b"})), {})
    assert (headers[b"content-type"].partition(b";")[0], headers[b"x-a"], told) == (b"text/x-own", b"b", [1])


def test_a_key_that_is_not_for_a_collection_is_told_what_it_would_be_told_if_there_were_none() -> None:
    def work(_: object, call: _Named) -> _Told:
        if call.collection == "nowhere":
            raise NotIndexedError(f"there is no collection '{call.collection}'")
        return _Told(call.collection)

    operation, mine = _operation(_Named, work), frozenset({"papers"})
    assert operation.collection is None
    assert _ask(operation, {"collection": "papers"}, collections=mine)[0] == 201
    forbidden, unknown = (
        _ask(operation, {"collection": name}, collections=only) for name, only in (("others", mine), ("nowhere", None))
    )
    assert forbidden[0] == unknown[0] == 404
    for told in (forbidden[2], unknown[2]):
        told.pop("timestamp")
        told["detail"] = told["detail"].replace("others", "NAME").replace("nowhere", "NAME")
    assert forbidden[2] == unknown[2]
    assert _ask(operation, {}, collections=mine)[0] == 404


def test_what_names_no_collection_is_about_the_index_itself() -> None:
    assert _operation(_Unnamed, lambda *_: None).collection == "default"
    assert _operation(_Unnamed, lambda *_: None, Right.METRICS).collection is None
    assert _operation(_Unnamed, lambda *_: None, None).collection is None


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (NotIndexedError("a"), 404, "not_found"),
        (UsageError("a"), 422, "invalid_request"),
        (OverlapError("a"), 409, "conflict"),
        (ConflictError("a"), 409, "conflict"),
        (LockedError("a"), 503, "locked"),
        (ProviderError(SECRET_WORDS), 503, "provider"),
        (StoreError(SECRET_WORDS, hint=SECRET_WORDS), 503, "unavailable"),
        (CorruptIndexError(SECRET_WORDS), 503, "unavailable"),
        (DiskFullError(SECRET_WORDS), 507, "disk_full"),
        (ContentRefusedError(RefusalReason.TOO_LARGE, "a"), 413, "too_large"),
        (ContentRefusedError(RefusalReason.SECRET, "a"), 422, "content_refused"),
        (DirIndexError(SECRET_WORDS), 500, "internal"),
    ],
)
def test_an_error_says_no_more_than_its_client_may_hear(error: DirIndexError, status: int, name: str) -> None:
    problem = problem_of_error(error)
    assert (problem.status, problem.error) == (status, name)
    assert SECRET_WORDS not in problem.detail
    assert problem.detail
    assert bool(problem.retry_seconds) is (status in {503, 507})


def test_an_error_tells_what_a_client_can_do_and_not_what_the_operator_can() -> None:
    assert problem_of_error(UsageError("no", hint="write it so")).detail == "no (write it so)"
    assert problem_of_error(UsageError("no", hint="dirindex index --yes")).detail == "no"
