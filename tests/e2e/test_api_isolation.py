"""Over HTTP, nothing of a collection can be told by a key for another one, whatever it asks and however both grow."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from web_servers import WebAnswer, WebServer, new_key

from directory_indexer.core.rights import Right
from directory_indexer.server.rest import Body, HttpOperation
from directory_indexer.server.rest.operation_table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OURS = ("amber", "birch", "cedar", "delta")
THEIRS = ("quartz", "ruby", "sapphire", "topaz")
SHARED = ("the", "and", "of")
NOBODY = "a" * 24
_MOMENT = re.compile(r'"\d{4}-\d\d-\d\dT[^"]*"')
_TEXTS = st.lists(
    st.lists(st.sampled_from((*THEIRS, *SHARED)), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=3
)
GIVEN = {
    "query": "amber",
    "text": "a text",
    "url": "https://example.org/",
    "doc_id": NOBODY,
    "filename": "a.md",
    "pattern": "amber",
    "path": "a",
    "page": 1,
}
NAMED = [one for one in OPERATIONS if {"collection", "collections"} & set(one.arguments._fields)]  # type: ignore[attr-defined]


class Site:
    """A server with two collections, and a key for each that may do everything there."""

    def __init__(self, place: Path) -> None:
        self.data_dir = place / "data"
        self.root = new_key(self.data_dir, "root", "--right", "admin")
        self.keys = {
            name: new_key(self.data_dir, name, "--right", "admin", "--collection", name) for name in ("ours", "theirs")
        }
        self.reader = new_key(self.data_dir, "reader", "--collection", "ours")
        self.server = WebServer(self.data_dir, DIRINDEX_SERVING__REQUESTS_PER_SECOND="10000")
        for name, words in (("ours", OURS), ("theirs", THEIRS)):
            assert self.ask("PUT", f"/api/v1/collections/{name}", name, {"description": f"of {words[0]}"}).status == 201
            for number, word in enumerate(words):
                self.send(name, f"{word} and {words[0]}.", f"{word}{number}")

    def ask(self, method: str, path: str, caller: str, body: object = None) -> WebAnswer:
        return self.server.ask(method, path, body, key=self.keys[caller])

    def send(self, name: str, text: str, client_id: str) -> None:
        body = {"text": text, "collection": name, "id": client_id, "wait": "complete", "metadata": {"tags": [text[:5]]}}
        assert self.ask("POST", "/api/v1/ingest", name, body).status in {200, 201}

    def answers(self, name: str) -> dict[str, str]:
        """Ask everything that a collection answers, with the words of both; moments are left out."""
        told: dict[str, str] = {}
        for query, mode in itertools.product((*OURS, *THEIRS, "tag:ruby", "-ruby birch"), ("keyword", "semantic")):
            body = {"query": query, "mode": mode, "collection": name, "limit": 50, "all": True, "explain": True}
            told[f"{query} {mode}"] = self._told("POST", "/api/v1/search", name, body)
        facets = {"query": "the", "facets": True, "collection": name}
        for word in (*OURS, *THEIRS):
            told[f"lines with {word}"] = self._told("POST", "/api/v1/grep", name, {"pattern": word, "collection": name})
        told["facets"] = self._told("POST", "/api/v1/search", name, facets)
        told["collections"] = self._told("GET", "/api/v1/collections", name)
        told["collection"] = self._told("GET", f"/api/v1/collections/{name}", name)
        listed = self.ask("GET", f"/api/v1/documents?collection={name}&limit=500", name)
        told["documents"] = _plain(listed, name)
        for one in listed.json["documents"]:
            for what in ("", "/original"):
                path = f"/api/v1/documents/{one['doc_id']}{what}?collection={name}"
                told[path] = self._told("GET", path, name)
        told["operations"] = self._told("GET", f"/api/v1/operations?collection={name}", name)
        return told

    def _told(self, method: str, path: str, name: str, body: object = None) -> str:
        return _plain(self.ask(method, path, name, body), name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.server.stop()


def _plain(answer: WebAnswer, name: str) -> str:
    """Give an answer without what differs from one to the next, and without the question, which names words of both."""
    text = re.sub(
        r'"(query|request_id)":\s*"[^"]*"|"patterns":\s*\["[^"]*"\]|tag \'ruby\': tag:ruby',
        "",
        _MOMENT.sub('"then"', answer.text),
    )
    return f"{answer.status} {text}".replace(f"/collections/{name}/", "/")


def _words_in(told: dict[str, str], words: tuple[str, ...]) -> set[str]:
    whole = " ".join(told.values())
    return {word for word in words if word in whole}


@pytest.fixture(scope="module")
def alone(site: Site) -> dict[str, str]:
    """Return what the one collection answers before the other one grows."""
    return site.answers("ours")


@settings(max_examples=settings().max_examples // 12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(more=_TEXTS)
def test_what_one_collection_answers_does_not_tell_of_another(
    site: Site, alone: dict[str, str], more: list[str]
) -> None:
    for number, text in enumerate(more):
        site.send("theirs", f"topaz {text}", f"more{number}")
    assert site.answers("ours") == alone


def test_no_answer_has_a_word_of_another_collection(site: Site, alone: dict[str, str]) -> None:
    assert _words_in(alone, (*THEIRS, "theirs", "default")) == set()
    assert _words_in(site.answers("theirs"), (*OURS, "ours", "default")) == set()


def _asked(operation: HttpOperation, collection: str, site: Site) -> dict[str, Any]:
    """Ask an operation for a collection, with the key of the other one."""
    fields = operation.arguments._fields  # type: ignore[attr-defined]
    given: dict[str, Any] = {name: GIVEN[name] for name in operation.schema.get("required", ()) if name in GIVEN}
    if "collections" in fields:
        given["collections"] = [collection]
    else:
        given["collection"] = collection
    path = operation.path
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", str(given.pop(name)))
    body: object = given if operation.argument_place is Body.JSON else None
    if body is None:
        path += "?" + "&".join(f"{name}={value}" for name, value in given.items())
    if operation.argument_place is Body.BYTES:
        body = b"a text"
    answer = site.ask(operation.method, path, "ours", body)
    told: dict[str, Any] = answer.json
    return {"status": answer.status, "error": told["error"], "detail": told["detail"].replace(collection, "NAME")}


@pytest.mark.parametrize("operation", NAMED, ids=lambda one: one.name)
def test_a_forbidden_collection_is_like_one_that_there_is_not(site: Site, operation: HttpOperation) -> None:
    forbidden, unknown = (_asked(operation, name, site) for name in ("theirs", "nowhere"))
    assert forbidden == unknown
    assert forbidden["status"] == 404
    assert forbidden == _asked(operation, "default", site)


def test_every_operation_looks_for_which_collection_a_key_is_good() -> None:
    others = {one.name for one in OPERATIONS if one not in NAMED and one.required_right not in {None, Right.METRICS}}
    assert others == {
        "listCollections",
        "getOperation",
        "cancelOperation",
        "pauseOperation",
        "resumeOperation",
        "backup",
    }


def test_operations_of_another_collection_are_like_none(site: Site) -> None:
    sent = site.ask("POST", "/api/v1/ingest", "theirs", {"text": "opal", "collection": "theirs", "wait": "none"}).json
    run = site.ask("GET", "/api/v1/operations?collection=theirs", "theirs").json["operations"][-1]["id"]
    work = site.ask("POST", "/api/v1/admin/purge", "theirs", {"collection": "theirs"}).json["id"]
    site.server.ask("GET", f"/api/v1/operations/{work}?wait=50", key=site.keys["theirs"])
    for known in (sent["operation"], run, work):
        for method, end in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume")):
            told = []
            for name in (known, known.replace("theirs.", "nowhere.")):
                answer = site.ask(method, f"/api/v1/operations/{name}{end}", "ours")
                told.append((answer.status, answer.json["error"], answer.json["detail"].replace(name, "ID")))
            assert told[0] == told[1]
            assert told[0][0] == 404


@pytest.mark.parametrize("sign", ["%0A", "%0D", "%09", "%23", "%3F", "%00", ";"])
@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.required_right not in {None, Right.READ}], ids=lambda one: one.name
)
def test_no_spelling_of_a_path_gives_a_right_that_a_key_does_not_have(
    site: Site, operation: HttpOperation, sign: str
) -> None:
    """Line ends and tabs are left out by some who read a path, and signs that end one by others."""
    path = re.sub(r"{(\w+)}", "x", operation.path)
    for written in (path.replace("/v1/", f"/v1/{sign}"), path[:-1] + sign + path[-1], path + sign):
        answer = site.server.ask(operation.method, written, b"{}", key=site.reader)
        assert answer.status in {403, 404}, (written, answer.text)
