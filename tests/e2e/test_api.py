"""The API of `dirindex serve --http`: searches, files, runs, keys, and what becomes of hostile clients."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from commands import DIRINDEX, run_command
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from web_servers import WebAnswer, WebServer, new_key

from directory_indexer.core.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

N_NOTES = 7
_HALF_OPEN = 600
_PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    for number in range(N_NOTES):
        (place / f"docs/note-{number}.md").write_text(f"# Carrots {number}\n\nThey grow in garden {number}.\n")
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command)
    return place / "data"


@pytest.fixture(scope="module")
def reader(data_dir: Path) -> str:
    return new_key(data_dir, "reader")


@pytest.fixture(scope="module")
def writer(data_dir: Path) -> str:
    return new_key(data_dir, "writer", "--right", "write")


@pytest.fixture(scope="module")
def watcher(data_dir: Path) -> str:
    return new_key(data_dir, "watcher", "--right", "metrics")


@pytest.fixture(scope="module")
def server(data_dir: Path, reader: str, writer: str, watcher: str) -> Iterator[WebServer]:
    assert all((reader, writer, watcher))
    with WebServer(data_dir) as server:
        yield server


def _pages(ask: Any) -> list[WebAnswer]:
    cursor, pages = "", []
    while cursor is not None:
        pages.append(ask(cursor))
        assert pages[-1].status == 200, pages[-1].text
        cursor = pages[-1].json["next_cursor"]
    return pages


def test_a_search_answers_hits_in_both_forms(server: WebServer, reader: str) -> None:
    answer = server.search("carrots garden 3", key=reader, limit=1)
    assert answer.status == 200
    (hit,), (plain,) = answer.json["hits"], answer.json["results"]
    assert hit["filename"] == "note-3.md"
    assert hit["path"].endswith("/docs/note-3.md")
    assert plain["text"] == hit["excerpt"]
    assert plain["score"] == hit["score"]
    assert plain["metadata"]["doc_id"] == hit["doc_id"]


def test_the_plain_form_is_left_out_on_request(server: WebServer, reader: str) -> None:
    answer = server.search("carrots garden 3", key=reader, limit=1, results=False).json
    assert len(answer["hits"]) == 1
    assert "results" not in answer


def test_weaker_hits_are_left_out_unless_all_are_asked_for(server: WebServer, reader: str) -> None:
    good = server.search("carots garden 3", key=reader, limit=50).json
    whole = server.search("carots garden 3", key=reader, limit=50, all=True).json
    assert good["corrections"] == whole["corrections"] == {"carots": "carrots"}
    assert len(whole["hits"]) == N_NOTES
    assert good["weaker_left_out"] is (len(good["hits"]) < N_NOTES)
    assert whole["weaker_left_out"] is False


def test_limit_goes_by_two_names_and_must_not_say_two_things(server: WebServer, reader: str) -> None:
    for given in ({"limit": 2}, {"top_k": 2}, {"limit": 2, "top_k": 2}):
        assert len(server.search("carrots", key=reader, **given).json["hits"]) == 2
    refused = server.search("carrots", key=reader, limit=2, top_k=3)
    assert (refused.status, refused.json["error"]) == (422, "invalid_request")


def test_pages_of_hits_hold_each_hit_once(server: WebServer, reader: str) -> None:
    def ask(cursor: str) -> WebAnswer:
        return server.search("carrots", key=reader, limit=3, cursor=cursor)

    pages = _pages(ask)
    paths = [hit["path"] for page in pages for hit in page.json["hits"]]
    assert len(paths) == len(set(paths)) == N_NOTES


def test_facets_and_filters_are_those_of_the_tools(server: WebServer, reader: str) -> None:
    counted = server.search("carrots", key=reader, facets=True, types=["markdown"]).json
    assert counted["files"] == N_NOTES
    assert server.search("carrots", key=reader, globs=["note-[12].md"]).json["index"]["files"] == N_NOTES
    assert server.search("carrots", key=reader, path="/nowhere").status == 404


def test_the_same_is_answered_as_on_the_command_line(data_dir: Path, server: WebServer, reader: str) -> None:
    def printed(*words: str | Path) -> Any:
        return json.loads(run_command([DIRINDEX, *words, "--json", "--data-dir", data_dir]).stdout)

    def answered(method: str, path: str, body: object = None) -> Any:
        return server.ask(method, f"/api/v1/{path}", body, key=reader).json

    docs = str(data_dir.parent / "docs")
    query = {"query": "carrots", "mode": "keyword", "limit": 3, "path": docs}
    hits, page = answered("POST", "search", query), printed("search", "carrots", docs, "--mode", "keyword", "-n", "3")
    path, doc_id = hits["hits"][0]["path"], hits["hits"][0]["doc_id"]
    outline = answered("GET", f"outline?path={path}")
    pairs = [
        *zip(hits["hits"], page["hits"], strict=True),
        (hits["index"], page["index"]),
        (answered("POST", "grep", {"pattern": "garden [23]", "path": docs}), printed("grep", "garden [23]", docs)),
        (outline, printed("outline", path)["outlines"][0]),
        (answered("GET", f"documents/{doc_id}"), printed("get", path)),
    ]
    for ours, theirs in pairs:
        assert {name: ours.get(name, "missing") for name in theirs} == theirs


def test_files_are_listed_once_each_and_read_by_their_ids(server: WebServer, reader: str) -> None:
    def ask(cursor: str) -> WebAnswer:
        return server.ask("GET", f"/api/v1/documents?limit=2&cursor={cursor}", key=reader)

    pages = _pages(ask)
    files = [file for page in pages for file in page.json["documents"]]
    assert [file["filename"] for file in files] == [f"note-{number}.md" for number in range(N_NOTES)]
    read = server.ask("GET", f"/api/v1/documents/{files[4]['doc_id']}", key=reader).json
    assert (read["path"], read["text"]) == (files[4]["path"], "# Carrots 4\n\nThey grow in garden 4.\n")
    part = server.ask("GET", f"/api/v1/documents/{files[4]['doc_id']}?lines=3-", key=reader).json
    assert (part["text"], part["start_line"]) == ("They grow in garden 4.\n", 3)
    beyond = server.ask("GET", f"/api/v1/documents/{files[4]['doc_id']}?lines=30-40", key=reader)
    assert beyond.status == 422


@pytest.mark.slow
def test_an_id_is_the_same_for_every_server(data_dir: Path, server: WebServer, reader: str) -> None:
    doc_id = server.search("carrots", key=reader, limit=1).json["hits"][0]["doc_id"]
    with WebServer(data_dir) as other:
        assert other.ask("GET", f"/api/v1/documents/{doc_id}", key=reader).status == 200


def test_a_cursor_of_somewhere_else_is_refused(server: WebServer, reader: str) -> None:
    assert server.search("carrots", key=reader, cursor="bm9uc2Vuc2U").status == 422
    assert server.ask("GET", "/api/v1/documents?cursor=%00", key=reader).status == 422


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("GET", "/api/v1/search", 405, "method_not_allowed"),
        ("PATCH", "/api/v1/documents", 405, "method_not_allowed"),
        ("OPTIONS", "/api/v1/search", 405, "method_not_allowed"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("GET", "/api/v1/documents/aaaaaaaaaaaaaaaaaaaaaaaa", 404, "not_found"),
        ("GET", "/api/v1/documents/..%2f..%2fetc%2fpasswd", 404, "not_found"),
        ("GET", "/api/v1/operations/run-999999", 404, "not_found"),
        ("GET", "/api/v1/documents?limit=0", 422, "invalid_request"),
        ("GET", "/api/v1/documents?unknown=1", 422, "invalid_request"),
        ("POST", "/api/v1/search", 422, "invalid_request"),
        ("POST", "/api/v1/index", 403, "forbidden"),
        ("DELETE", "/api/v1/operations/run-1", 403, "forbidden"),
        ("GET", "/metrics", 403, "forbidden"),
    ],
)
def test_errors_have_one_form(server: WebServer, reader: str, method: str, path: str, status: int, error: str) -> None:
    answer = server.ask(method, path, key=reader, headers={"X-Request-Id": "of-a-test"})
    assert (answer.status, answer.json["error"]) == (status, error)
    assert answer.json["status_code"] == status
    assert answer.json["request_id"] == answer.headers["X-Request-Id"] == "of-a-test"


def test_a_body_that_nests_ten_thousand_deep_is_no_json(server: WebServer, reader: str) -> None:
    body = b'{"query": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    answer = server.ask("POST", "/api/v1/search", body, key=reader)
    assert (answer.status, answer.json["error"]) == (400, "invalid_json")


def test_a_body_that_is_longer_than_it_may_be_is_left(server: WebServer, reader: str) -> None:
    head = f"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {reader}\r\n"
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE_SECONDS) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        with contextlib.suppress(OSError):
            for _ in range(40):
                connection.sendall(piece)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")


def test_an_index_run_is_started_watched_and_recorded(server: WebServer, reader: str, writer: str) -> None:
    started = server.ask("POST", "/api/v1/index", key=writer)
    assert started.status == 202
    place = started.headers["Location"]
    assert place == f"/api/v1/operations/{started.json['id']}"
    ended = server.ask("GET", f"{place}?wait=50", key=reader).json
    assert (ended["id"], ended["state"]) == (started.json["id"], "completed")
    listed = server.ask("GET", "/api/v1/operations", key=reader).json["operations"]
    assert listed[0]["id"] == started.json["id"]
    again = server.ask("DELETE", place, key=writer)
    assert (again.status, again.json["error"]) == (409, "has_ended")
    assert server.ask("POST", "/api/v1/index", key=writer).json["id"] != started.json["id"]


def test_a_run_that_waits_for_its_turn_is_cancelled(data_dir: Path, server: WebServer, writer: str) -> None:
    lock = try_lock(data_dir / "write.lock", exclusive=True)
    while lock is None:  # the run of another test
        lock = try_lock(data_dir / "write.lock", exclusive=True)
    with lock:
        started = server.ask("POST", "/api/v1/index", key=writer)
        place = started.headers["Location"]
        assert server.ask("DELETE", place, key=writer).status == 202
        assert server.ask("GET", f"{place}?wait=50", key=writer).json["state"] == "interrupted"


def test_a_directory_that_nobody_allowed_is_not_indexed(server: WebServer, writer: str, tmp_path: Path) -> None:
    answer = server.ask("POST", "/api/v1/index", {"path": str(tmp_path)}, key=writer)
    assert answer.status == 422


def test_a_key_is_good_until_it_is_revoked(data_dir: Path, server: WebServer) -> None:
    key = new_key(data_dir, "leaver")
    assert server.search("carrots", key=key).status == 200
    revoke: list[str | Path] = [DIRINDEX, "key", "revoke", "leaver", "--data-dir", data_dir]
    run_command(revoke)
    assert server.search("carrots", key=key).status == 401


def test_a_key_for_another_collection_finds_none(data_dir: Path, server: WebServer) -> None:
    key = new_key(data_dir, "stranger", "--right", "admin", "--collection", "papers")
    for method, path in (("POST", "/api/v1/search"), ("GET", "/api/v1/documents"), ("POST", "/api/v1/index")):
        answer = server.ask(method, path, {"query": "carrots"} if path.endswith("search") else None, key=key)
        assert (answer.status, answer.json["error"]) == (404, "not_found")
        assert "carrots" not in answer.text


def test_who_watches_sees_numbers_and_no_words(server: WebServer, reader: str, watcher: str) -> None:
    server.search("zanzibar", key=reader)
    answer = server.ask("GET", "/metrics", key=watcher)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'route="/api/v1/search",status="200"' in answer.text
    assert not [word for word in ("zanzibar", "note-", "reader", "docs/") if word in answer.text]
    assert server.search("carrots", key=watcher).status == 403


def test_probes_need_no_key_and_no_name(server: WebServer) -> None:
    elsewhere = {"Host": "10.0.0.7:1234"}
    for path in ("/health", "/livez"):
        assert server.ask("GET", path, headers=elsewhere).json["status"] == "ok"
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (answer := server.ask("GET", "/readyz", headers=elsewhere)).status == 503:
        assert answer.json["error"] == "not_ready"
        assert time.monotonic() < deadline
    assert answer.json == {"status": "ready", "model": "ready"}


def test_the_descriptions_need_no_key_but_the_right_name(server: WebServer) -> None:
    assert server.ask("GET", "/openapi.json").json["openapi"] == "3.1.0"
    assert "<h1>dirindex" in server.ask("GET", "/docs").text
    assert server.ask("GET", "/docs", headers={"Host": "evil.example"}).status == 421


def test_a_key_that_may_only_read_starts_no_run_over_mcp(server: WebServer, reader: str, writer: str) -> None:
    async def index_with(key: str) -> bool:
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            AsyncClient(headers=headers, timeout=_PATIENCE_SECONDS) as http,
            Client(streamable_http_client(server.url, http_client=http)) as client,
        ):
            assert not (await client.call_tool("search", {"query": "carrots", "mode": "keyword"})).is_error
            return not (await client.call_tool("index", {})).is_error

    assert anyio.run(index_with, reader) is False
    assert anyio.run(index_with, writer) is True


@pytest.mark.parametrize("sent", ["", "GET /health HTTP/1.1\r\nHost: x\r\nX: ", "POST /api/v1/search HTTP/1.1\r\n"])
def test_connections_that_are_half_open_keep_no_honest_client_out(server: WebServer, reader: str, sent: str) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(_HALF_OPEN):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            with contextlib.suppress(OSError):
                connection.sendall(sent.encode())
            if number % 150 == 0:
                assert server.search("carrots", key=reader).status == 200
        assert server.search("carrots", key=reader).status == 200


def test_a_client_that_sends_letter_by_letter_holds_nobody_up(server: WebServer, reader: str) -> None:
    head = f"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {reader}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE_SECONDS) as slow:
        for letter in f"{head}Content-Length: 100\r\n\r\n{{":
            slow.sendall(letter.encode())
        assert server.search("carrots", key=reader).status == 200
        assert slow.recv(1) == b""  # it was given up


def test_of_many_searches_at_once_each_is_answered_or_told_when_to_come_back(data_dir: Path, reader: str) -> None:
    with WebServer(data_dir, "--log-format", "json") as server:
        answers: list[WebAnswer] = []

        def ask() -> None:
            answers.append(server.search("carrots", key=reader))

        threads = [threading.Thread(target=ask) for _ in range(250)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    refused = [answer for answer in answers if answer.status != 200]
    assert {answer.status for answer in refused} <= {429, 503}
    assert all(answer.headers["Retry-After"] for answer in refused)
    assert all(answer.json["error"] in {"busy", "too_many_requests"} for answer in refused)
    assert len(refused) < len(answers)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_server_that_is_told_to_end_answers_what_it_has_in_hand(data_dir: Path, reader: str, watcher: str) -> None:
    body = json.dumps({"query": "carrots", "mode": "keyword"}).encode()
    server = WebServer(data_dir)
    head = (
        f"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {reader}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE_SECONDS) as connection:
        connection.sendall(head.encode() + body[:-1])
        while "dirindex_requests_in_hand 2\n" not in server.ask("GET", "/metrics", key=watcher).text:
            pass
        server.process.terminate()
        while (answer := server.ask("GET", "/readyz")).text.find('"closing"') < 0:
            assert answer.status in {200, 503}
        assert server.ask("GET", "/livez").status == 200
        refused = server.search("carrots", key=reader)
        assert (refused.status, refused.json["error"]) == (503, "closing")
        connection.sendall(body[-1:])
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
    assert server.process.wait(timeout=_PATIENCE_SECONDS) == 128 + signal.SIGTERM
    server.stop()


def test_the_log_of_a_server_names_requests_and_nothing_that_they_ask(data_dir: Path, reader: str) -> None:
    server = WebServer(data_dir, "--log-format", "json")
    server.search("zanzibar", key=reader)
    server.search("zanzibar", key=reader, path="/zanzibar")
    server.ask("GET", "/zanzibar?zanzibar=1", key=reader, headers={"X-Request-Id": "of-a-test"})
    server.ask("GET", "/zanzibar", key="dirindex_zanzibar")
    said = server.log()
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [line["status"] for line in lines if line["event"] == "request"] == [200, 404, 404, 401]
    assert lines[2]["request_id"] == "of-a-test"
    assert "zanzibar" not in said
    assert reader not in said


def test_lines_are_found_counted_and_limited(server: WebServer, reader: str) -> None:
    def lines(pattern: str, **more: Any) -> Any:
        return server.ask("POST", "/api/v1/grep", {"pattern": pattern, **more}, key=reader)

    whole = lines("garden [0-9]").json
    assert (whole["total_lines"], whole["total_files"], whole["truncated"]) == (N_NOTES, N_NOTES, False)
    first = whole["files"][0]
    assert first["path"].endswith("/docs/note-0.md")
    assert first["lines"] == [
        {"line": 3, "text": "They grow in garden 0.", "marks": [[13, 21]], "context": False, "shortened": False}
    ]
    part = lines("garden [0-9]", limit=2).json
    assert (len(part["files"]), part["total_lines"], part["truncated"]) == (2, N_NOTES, True)
    assert lines("GARDEN 3", ignore_case=True).json["total_lines"] == 1
    assert lines("garden.3", fixed=True).json["files"] == []
    assert lines("garden", globs=["note-[12].md"], types=["markdown"], context=1).json["total_files"] == 2
    assert lines("garden", path="/nowhere").status == 404
    assert (lines("(").status, lines("(").json["error"]) == (422, "invalid_request")
    assert lines("garden", types=["nonsense"]).status == 422


def test_outlines_are_those_of_files_and_directories(server: WebServer, reader: str) -> None:
    def outline(path: str) -> WebAnswer:
        return server.ask("GET", f"/api/v1/outline?path={path}", key=reader)

    tree = outline("docs").json
    assert (tree["kind"], tree["files"]) == ("directory", N_NOTES)
    assert [entry["name"] for entry in tree["entries"]][:2] == ["note-0.md", "note-1.md"]
    note = outline("note-3.md").json
    assert [(entry["name"], entry["start_line"]) for entry in note["entries"]] == [("Carrots 3", 1)]
    assert outline("/nowhere").status == 404
    assert server.ask("GET", "/api/v1/outline", key=reader).status == 422
