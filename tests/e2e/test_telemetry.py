"""What is told of a server and of index runs, to whom, and that nothing waits or fails for it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from commands import DIRINDEX, run_command
from page_servers import PageServer
from serving import RawClient
from telemetry_receivers import Receiver, Told
from web_servers import WebServer, new_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRETS = ("heron", "shallows", "kestrel", "waders", "field-notes", "hidden-place", "damaged")
"""Words of texts, queries, errors, names and paths: none of them may be told."""

KEY_NAME = "ann-of-all"
OTLP, AZURE = "OTEL_EXPORTER_OTLP_ENDPOINT", "APPLICATIONINSIGHTS_CONNECTION_STRING"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Day(NamedTuple):
    """What was told of all that was done, and what the server logged."""

    receiver: Receiver
    spans: list[Told]
    lines: list[Told]
    log: str


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Have a run in a terminal, an ingest, a search and a run for a client told to both receivers at once."""
    place = tmp_path_factory.mktemp("place") / "hidden-place"
    place.mkdir()
    (place / "kestrel.md").write_text("The kestrel hovers.\n")
    (place / "kestrel.pdf").write_bytes(b"%PDF-1.7 kestrel")
    with Receiver() as receiver:
        telling = {OTLP: receiver.url, AZURE: receiver.connection_string}
        command: list[str | Path] = [DIRINDEX, "index", place, "-q", "--data-dir", place / "data"]
        run_command(command, check=False, env={**os.environ, **telling})
        key = new_key(place / "data", KEY_NAME, "--right", "admin")
        with WebServer(place / "data", "--log-format", "json", **telling) as server:
            ask_for_everything(server, key)
        yield Day(receiver, receiver.spans(), receiver.lines(), server.log())


def ask_for_everything(server: WebServer, key: str) -> None:
    server.ask("PUT", "/api/v1/collections/waders", {}, key=key)
    text = {"collection": "waders", "text": "The heron waits.", "metadata": {"filename": "field-notes.md"}}
    assert server.ask("POST", "/api/v1/ingest", text, key=key, headers={"X-Request-Id": "ingest-1"}).status == 201
    while server.ask("GET", "/readyz").status != 200:  # until the model is there, words alone answer
        pass
    query = {"query": "heron in the shallows", "collection": "waders"}
    assert server.ask("POST", "/api/v1/search", query, key=key, headers={"X-Request-Id": "search-1"}).json["hits"]
    started = server.ask("POST", "/api/v1/index", {}, key=key)
    server.ask("GET", f"{started.headers['Location']}?wait=20", key=key)
    server.ask("GET", "/docs", headers={"traceparent": f"00-{TRACE}-{SPAN}-01"})
    server.ask("GET", "/docs", headers={"traceparent": "heron"})


def named(told: list[Told], name: str, **facts: object) -> Told:
    """Find the one of this name, and with these facts."""
    (one,) = [one for one in told if one.name == name and facts.items() <= one.facts.items()]
    return one


def parts_of(spans: list[Told], whole: Told) -> dict[str, Told]:
    return {one.name: one for one in spans if one.trace == whole.trace}


@pytest.mark.slow
def test_a_collector_is_told_of_an_ingest(day: Day) -> None:
    ingest = named(day.spans, "POST /api/v1/ingest")
    assert ingest.facts["http.route"] == "/api/v1/ingest"
    assert ingest.facts["http.response.status_code"] == 201
    assert ingest.facts["dirindex.request_id"] == "ingest-1"
    parts = parts_of(day.spans, ingest)
    assert {"ingest", "keep", "run index", "walking", "reading"} <= parts.keys()
    assert parts["ingest"].parent == ingest.id
    assert parts["run index"].parent == parts["ingest"].id
    assert parts["reading"].parent == parts["run index"].id
    assert parts["run index"].facts["dirindex.n_files"] == 1
    assert parts["run index"].facts["dirindex.outcome"] == "completed"
    assert ingest.resource["service.name"] == "dirindex"
    assert "gzip" in day.receiver.encodings


def test_a_collector_is_told_of_a_search_and_of_its_line_in_the_log(day: Day) -> None:
    search = named(day.spans, "POST /api/v1/search")
    parts = parts_of(day.spans, search)
    assert parts["search"].facts["dirindex.n_hits"] == 1
    assert {"ask words", "embed query"} <= parts.keys()
    assert parts["embed query"].parent == parts["search"].id
    line = named(day.lines, "request", **{"dirindex.request_id": "search-1"})
    assert (line.trace, line.id) == (search.trace, search.id)
    assert line.facts["http.response.status_code"] == 200
    assert f'"trace_id":"{search.trace}"' in day.log


def test_application_insights_is_told_of_both(day: Day) -> None:
    envelopes = day.receiver.envelopes()
    told = {one["data"]["baseData"].get("name"): one["data"] for one in envelopes}
    search, ingest = (told[f"POST /api/v1/{name}"]["baseData"] for name in ("search", "ingest"))
    assert (search["responseCode"], search["success"], ingest["responseCode"]) == ("200", True, "201")
    assert search["properties"]["dirindex.request_id"] == "search-1"
    assert {"ingest", "run index", "reading", "search", "embed query"} <= told.keys()
    lines = [one["data"]["baseData"]["properties"] for one in envelopes if one["data"]["baseType"] == "MessageData"]
    assert {one["http.route"] for one in lines if one.get("dirindex.request_id") == "search-1"} == {"/api/v1/search"}
    assert {path for path, _ in day.receiver.bodies} == {"/v1/traces", "/v1/logs", "/v2.1/track"}


def test_nothing_of_texts_queries_names_and_paths_is_told(day: Day) -> None:
    told = day.receiver.everything().lower()
    assert [one for one in SECRETS if one.encode() in told] == []
    assert not [one for one in day.spans if KEY_NAME in str(one)]


def test_a_run_in_a_terminal_is_told_and_one_for_a_client_is_a_part_of_its_request(day: Day) -> None:
    runs = [one for one in day.spans if one.name == "run index"]
    own = named(runs, "run index", **{"dirindex.origin": "terminal"})
    assert (own.parent, own.facts["dirindex.n_failed"]) == ("", 1)
    request = named(day.spans, "POST /api/v1/index")
    assert [one for one in runs if one.trace == request.trace]


def test_the_trace_of_a_client_is_linked_to_and_probes_are_left_out(day: Day) -> None:
    spans = [one for one in day.spans if one.name == "GET /docs"]
    assert sorted((one.trace == TRACE, one.parent, one.links) for one in spans) == [
        (False, "", ()),
        (False, "", (TRACE,)),
    ]
    assert not [one for one in day.spans if "readyz" in one.name]


def test_calls_of_tools_are_told_and_a_receiver_of_spans_gets_no_lines(tmp_path: Path) -> None:
    with Receiver() as receiver:
        environ = {**os.environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{receiver.url}/v1/traces"}
        with RawClient("--data-dir", tmp_path, environ=environ) as client:
            client.shake_hands()
            client.call("search", query="heron")
            client.end_input()
        call = named(receiver.spans(), "call search")
        assert (call.facts["dirindex.tool"], call.facts["dirindex.is_error"]) == ("search", True)
        assert not receiver.lines()


def test_a_call_for_a_remote_index_is_told_together_with_what_the_server_does_for_it(tmp_path: Path) -> None:
    key = new_key(tmp_path / "there", KEY_NAME)
    (tmp_path / "token").write_text(key)
    (tmp_path / "token").chmod(0o600)
    with Receiver() as receiver:
        joining = {OTLP: receiver.url, "DIRINDEX_TELEMETRY__JOIN_TRACES": "true"}
        with WebServer(tmp_path / "there", **joining) as server:
            words = ("--remote", server.root, "--token-file", tmp_path / "token", "--data-dir", tmp_path / "here")
            with RawClient(*words, environ={**os.environ, OTLP: receiver.url}) as client:
                client.shake_hands()
                client.call("list_collections")
                client.end_input()
        asked, answered = named(receiver.spans(), "ask server"), named(receiver.spans(), "POST /mcp")
        calls = {one.parent: one for one in receiver.spans() if one.name == "call list_collections"}
        assert calls.keys() >= {answered.id}
        (call,) = [one for parent, one in calls.items() if parent != answered.id]
        assert (asked.parent, answered.parent) == (call.id, asked.id)
        assert str(tmp_path).encode() not in receiver.everything()


def test_what_the_page_asks_for_is_told(tmp_path: Path) -> None:
    (tmp_path / "kestrel.md").write_text("The kestrel hovers.\n")
    data_dir = tmp_path.with_name("data")
    command: list[str | Path] = [DIRINDEX, "index", tmp_path, "-q", "--data-dir", data_dir]
    run_command(command)
    with Receiver() as receiver:
        with PageServer(data_dir, **{OTLP: receiver.url}) as server:
            admitted = server.admit()
            assert server.search_as(admitted, "kestrel").json["hits"]
        search = named(receiver.spans(), "POST /api/v1/search")
        assert parts_of(receiver.spans(), search)["search"].facts["dirindex.n_hits"] == 1
        told = receiver.everything()
        hidden = (b"kestrel", server.code.encode(), admitted.token.encode(), str(tmp_path).encode())
        assert not [one for one in hidden if one in told]


_LOADED = """
import os, sys, threading
from directory_indexer.cli import main

def told(code):
    loaded = sorted(name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter",
        "azure.", "google.protobuf", "directory_indexer.telemetry")))
    sys.stderr.write(f"loaded: {loaded}; threads: {[one.name for one in threading.enumerate()]}")
    sys.stderr.flush()
    end(code)

end, os._exit = os._exit, told
main()
"""


@pytest.mark.parametrize(
    ("words", "environ"),
    [(["serve"], {}), (["index", "."], {"OTEL_SDK_DISABLED": "true", OTLP: "http://127.0.0.1:9"})],
)
def test_off_nothing_is_loaded_and_no_thread_runs(tmp_path: Path, words: list[str], environ: dict[str, str]) -> None:
    (tmp_path / "note.md").write_text("Carrots.\n")
    command = [sys.executable, "-c", _LOADED, *words, "-q", "--data-dir", str(tmp_path.with_name("data"))]
    variables = {**os.environ, **environ}
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, input="", capture_output=True, text=True, check=False, timeout=100
    )
    ours = ["directory_indexer.telemetry", "directory_indexer.telemetry.spans", "directory_indexer.telemetry.start"]
    assert f"loaded: {ours}; threads: ['MainThread'" in done.stderr
    assert "Otel" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a signal ends a process at once there")
def test_a_collector_that_never_answers_keeps_nothing_back(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with WebServer(tmp_path, "--no-token", **{OTLP: url}) as server:
            assert server.ask("GET", "/health").status == 200
        assert server.process.returncode == 143
