"""`dirindex serve` on standard input and output, as an assistant meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commands import DIRINDEX, run_command
from serving import RawClient, text_of

from directory_indexer.server.lifecycle import INSTRUCTIONS, make_handshake_response

if TYPE_CHECKING:
    from collections.abc import Iterator

_N_FILES = 40


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index forty notes, once for all tests that only read."""
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    (place / "docs/long.md").write_text("".join(f"Line {n} of a long text about nothing.\n" for n in range(100)))
    (place / "docs/line.txt").write_text(" ".join(f"word{n}" for n in range(600)))
    return _place(place)


@pytest.fixture
def own_place(tmp_path: Path) -> Path:
    return _place(tmp_path, n_files=8)


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[RawClient]:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ), is_cold=True) as client:
        client.shake_hands()
        yield client


def test_the_tools_are_those_that_clients_are_told_of(client: RawClient) -> None:
    tools = client.request("tools/list")["result"]["tools"]
    names = [
        "search",
        "grep",
        "symbol",
        "locate",
        "outline",
        "get_content",
        "similar_files",
        "convert_to_text",
        "index",
        "server_info",
    ]
    assert [tool["name"] for tool in tools] == names
    for tool in tools:
        assert tool["title"]
        assert tool["description"]
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] != "index")
        assert "outputSchema" not in tool  # assistants would pay for it each time
        written = json.dumps(tool["inputSchema"])
        assert not any(word in written for word in ("anyOf", "oneOf", "$ref", "null"))


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_search_without_a_place_looks_where_the_client_works(
    place: Path, tmp_path: Path, *, is_indexed: bool
) -> None:
    root = place / "docs" if is_indexed else tmp_path
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        capabilities = {"roots": {"listChanged": True}}
        who = {"name": "test", "version": "1"}
        client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": who})
        client.send({"method": "notifications/initialized"})
        asked = client.ask("tools/call", {"name": "search", "arguments": {"query": "carrots", "mode": "keyword"}})
        roots = client.next_request("roots/list")
        client.send({"id": roots["id"], "result": {"roots": [{"uri": root.as_uri()}, {"uri": "file:///nowhere%00"}]}})
        said = text_of(client.answer_to(asked)["result"])
        assert ("looked in the roots of this client alone" in said) == is_indexed
        assert ("nothing is indexed in the roots of this client" in said) != is_indexed
        assert "roots of this client" not in text_of(client.call("search", query="carrots", path="/"))


@pytest.mark.skipif(sys.platform == "win32", reason="files that are open cannot be cut there")
@pytest.mark.parametrize("share", [pytest.param(0, marks=pytest.mark.slow), 0.5])
def test_vectors_that_are_cut_short_under_a_server_are_missed_not_read(own_place: Path, share: float) -> None:
    data_dir = own_place / "data"
    run_command([DIRINDEX, "doctor", "--repair", "--data-dir", data_dir])
    with RawClient("--data-dir", data_dir, environ=dict(os.environ)) as client:
        client.shake_hands()
        while client.call("search", query="carrots", mode="semantic").get("isError"):
            assert client.process.poll() is None
        for path in (data_dir / "qdrant").rglob("*"):
            if path.is_file():
                os.truncate(path, int(path.stat().st_size * share))
        answer = client.call("search", query="carrots")
        assert answer["structuredContent"]["hits"]
        assert "are damaged" in str(answer["structuredContent"]["notes"])
        assert "are damaged" in text_of(client.call("search", query="carrots", mode="semantic"))
        run_command([DIRINDEX, "index", "--quiet", "--data-dir", data_dir])
        assert not client.call("search", query="carrots", mode="semantic").get("isError")


def test_the_instructions_fit_into_what_clients_keep(place: Path) -> None:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        instructions = client.shake_hands()["result"]["instructions"]
    assert 200 < len(instructions) < 2000


HANDSHAKES: list[tuple[str, dict[str, Any]]] = [
    (
        "initialize",
        {"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": {"name": "test", "version": "1"}},
    )
    for version in ("2024-11-05", "2025-11-25")
]
DISCOVERY: tuple[str, dict[str, Any]] = (
    "server/discover",
    {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
    },
)


@pytest.mark.parametrize(("method", "params"), [*HANDSHAKES, DISCOVERY])
def test_the_early_answer_to_a_handshake_is_the_one_that_the_sdk_gives(
    place: Path, method: str, params: dict[str, Any]
) -> None:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        # The first message: those after it are the business of the SDK.
        client.request("ping" if method == "initialize" else "tools/list", params if method != "initialize" else {})
        answer = client.request(method, params)
    request = {"jsonrpc": "2.0", "id": answer["id"], "method": method, "params": params}
    assert json.loads(json.dumps(make_handshake_response(json.dumps(request).encode(), INSTRUCTIONS))) == answer


def test_a_handshake_is_answered_once_and_what_comes_with_it_is_not_lost(place: Path) -> None:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        handshake = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        messages: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": handshake},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list", "params": {}},
            {"id": 3, "method": "ping"},
        ]
        client.send_bytes(b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in messages))
        assert client.answer_to(2)["result"]["tools"]
        assert client.answer_to(3)["result"] == {}
    assert sorted(json.loads(line)["id"] for line in client.lines) == [1, 2, 3]


def test_a_discovery_is_answered_once_and_what_comes_with_it_is_not_lost(place: Path) -> None:
    method, params = DISCOVERY
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        messages: list[dict[str, Any]] = [
            {"id": "one", "method": method, "params": params},
            {"id": 2, "method": "tools/list", "params": params},
        ]
        client.send_bytes(b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in messages))
        assert client.answer_to(2)["result"]["tools"]
    assert [json.loads(line)["id"] for line in client.lines] == ["one", 2]


def test_an_answer_says_the_same_in_words_and_in_structure(client: RawClient) -> None:
    result = client.call("search", query="how to rotate the signing keys", mode="keyword")
    hit = result["structuredContent"]["hits"][0]
    assert hit["path"].endswith("docs/keys.md")
    assert f"\n{hit['path']}\n[1] {hit['excerpt_start_line']}-" in text_of(result)
    assert hit["excerpt"] in text_of(result).replace("\n  ", "\n")
    assert result["content"][1]["uri"].endswith(hit["path"])


def test_the_first_search_does_not_wait_for_the_model_and_a_later_one_has_it(place: Path) -> None:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        assert client.call("search", query="rotate signing keys")["structuredContent"]["hits"]
        for mode in ("semantic", "hybrid"):
            later = client.call("search", query="credentials", mode=mode)["structuredContent"]
            assert later["hits"], mode
            assert not any("keywords alone" in note for note in later.get("notes", ())), mode


def test_a_small_budget_gives_whole_hits_and_a_cursor_for_the_rest(client: RawClient) -> None:
    seen: list[tuple[str, int]] = []
    cursor = ""
    while True:
        result = client.call("search", query="carrots", mode="keyword", limit=7, max_tokens=500, cursor=cursor)
        answer = result["structuredContent"]
        assert len(json.dumps(answer, ensure_ascii=False)) <= 1500 * 1.1
        assert len(text_of(result)) <= 1500
        seen += [(hit["path"], hit["chunk"]) for hit in answer["hits"]]
        if not answer["truncated"]:
            break
        cursor = answer["next_cursor"]
    everything = client.call("search", query="carrots", mode="keyword", limit=50, max_tokens=10_000)
    hits = everything["structuredContent"]["hits"]
    assert seen == [(hit["path"], hit["chunk"]) for hit in hits]
    assert len(set(seen)) == len(seen) > 7


def test_an_answer_at_defaults_is_at_most_ten_kilobytes(client: RawClient) -> None:
    before = len(client.lines)
    client.call("search", query="carrots soup keys", limit=50)
    assert len(client.lines[before].encode()) <= 10_240


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": "x", "max_results": 3}, "unknown argument 'max_results'"),
        ({}, "'query' is missing"),
        ({"query": "x", "limit": 500}, "an integer from 1 to 50"),
        ({"query": "x", "mode": "fuzzy"}, "hybrid, semantic, keyword"),
        ({"query": "x", "cursor": "nonsense"}, "repeat the search without cursor"),
        ({"query": "x", "path": "/nowhere"}, "call server_info"),
        ({"query": ["x"]}, "must be a text of 1 to 20000 characters"),
    ],
)
def test_an_error_is_a_result_that_names_the_next_call(
    client: RawClient, arguments: dict[str, Any], words: str
) -> None:
    result = client.call("search", **arguments)
    assert result["isError"] is True
    assert words in text_of(result)
    assert "Next: " in text_of(result)


def test_nulls_of_optional_arguments_and_numbers_as_text_are_accepted(client: RawClient) -> None:
    result = client.call("search", query="carrots", limit="3", path=None, types=None, mode="keyword", cursor=None)
    assert len(result["structuredContent"]["hits"]) == 3


def test_a_cursor_leads_on_without_repeating_a_hit_after_the_index_has_changed(own_place: Path) -> None:
    question = {"query": "carrots", "mode": "keyword", "limit": 3}
    with RawClient("--data-dir", own_place / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        before = client.call("search", **question)["structuredContent"]
        gone = Path(before["hits"][1]["path"])
        gone.unlink()
        (own_place / "docs/new.md").write_text("Carrots, carrots, carrots.\n")
        assert client.call("index", wait_seconds=50)["structuredContent"]["state"] == "completed"
        result = client.call("search", **question, cursor=before["next_cursor"])
    after = result["structuredContent"]
    assert len(after["hits"]) == 3
    assert not {hit["path"] for hit in after["hits"]} & {hit["path"] for hit in before["hits"]}
    assert any("the index has changed" in note for note in after["notes"])
    assert "the index has changed" in text_of(result)


def test_a_directory_that_is_forgotten_while_a_server_runs_leaves_its_answers(own_place: Path) -> None:
    data_dir = own_place / "data"
    with RawClient("--watch", "--data-dir", data_dir, environ=dict(os.environ)) as client:
        client.shake_hands()
        assert client.call("search", query="carrots")["structuredContent"]["hits"]
        run_command([DIRINDEX, "forget", own_place / "docs", "--data-dir", data_dir])
        after = client.call("search", query="carrots")
        assert not (after.get("structuredContent") or {}).get("hits"), after
        assert client.call("search", query="carrots", path=str(own_place / "docs"))["isError"] is True
        run_command([DIRINDEX, "index", own_place / "docs", "--quiet", "--data-dir", data_dir])
        assert client.call("search", query="carrots")["structuredContent"]["hits"]


def test_a_file_is_read_in_parts_that_join_to_the_whole(client: RawClient, place: Path) -> None:
    path = place / "docs/long.md"
    text, start = "", 1
    while True:
        result = client.call("get_content", path=str(path), start_line=start, max_tokens=300)
        answer = result["structuredContent"]
        text += answer["text"]
        assert answer["text"] in text_of(result)
        if not answer["truncated"]:
            break
        start = answer["next_start_line"]
    assert text == path.read_text()


def test_a_file_of_one_long_line_is_read_by_passages(client: RawClient, place: Path) -> None:
    path = place / "docs/line.txt"
    first = client.call("get_content", path="line.txt", max_tokens=700)["structuredContent"]
    assert path.read_text().startswith(first["text"])
    following = client.call("get_content", path="line.txt", chunks=first["next_chunks"], max_tokens=700)
    assert following["structuredContent"]["text"] in path.read_text()


def test_a_file_that_changed_on_disk_is_said_to_have_changed(own_place: Path) -> None:
    with RawClient("--data-dir", own_place / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        (own_place / "docs/keys.md").write_text("quite another text")
        result = client.call("get_content", path="keys.md")
    assert result["structuredContent"]["changed"] is True
    assert "changed on disk" in text_of(result)
    assert "ninety days" in text_of(result)


def test_similar_files_leaves_the_file_itself_out(client: RawClient, place: Path) -> None:
    result = client.call("similar_files", path=str(place / "docs/note01.md"), limit=3)["structuredContent"]
    paths = [Path(hit["path"]).name for hit in result["hits"]]
    assert len(paths) == 3
    assert "note01.md" not in paths


def test_resources_are_found_by_completion_and_read(client: RawClient, place: Path) -> None:
    template = client.request("resources/templates/list")["result"]["resourceTemplates"][0]["uriTemplate"]
    assert client.request("resources/list")["result"]["resources"] == []
    typed = str(place / "docs/ke").removeprefix("/")
    completion = client.request(
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "path", "value": typed}},
    )["result"]["completion"]
    assert completion["total"] == 1
    uri = template.replace("{+path}", completion["values"][0])
    contents = client.request("resources/read", {"uri": uri})["result"]["contents"]
    assert contents[0]["text"] == (place / "docs/keys.md").read_text()


def test_a_tool_that_is_not_there_is_a_protocol_error(client: RawClient) -> None:
    answer = client.request("tools/call", {"name": "delete_everything", "arguments": {}})
    assert answer["error"]["code"] == -32602
    assert "search" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (b"not json", -32700),
        (b"\xff\xfe", -32700),
        (b"x" * 100_000, -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":7}', -32600),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600),
    ],
    ids=lambda one: str(one)[:30],
)
def test_what_is_no_message_is_answered_with_an_error(client: RawClient, broken: bytes, code: int) -> None:
    n_lines = len(client.lines)
    client.send_bytes(broken + b"\n")
    assert client.request("ping")["result"] == {}
    answers = [json.loads(line) for line in client.lines[n_lines:]]
    assert [(one["id"], one["error"]["code"]) for one in answers if "error" in one] == [(None, code)]


def test_a_blank_line_is_passed_over(client: RawClient) -> None:
    n_lines = len(client.lines)
    client.send_bytes(b"\n  \n")
    assert client.request("ping")["result"] == {}
    assert not [line for line in client.lines[n_lines:] if "error" in line]


def test_broken_messages_do_not_end_the_session(client: RawClient) -> None:
    for broken in (b"not json\n", b"[]\n", b"\n", b"\xff\xfe\n", b'{"jsonrpc":"2.0","id":7}\n', b"x" * 100_000 + b"\n"):
        client.send_bytes(broken)
    assert client.request("tools/list")["result"]["tools"]


def test_only_protocol_reaches_standard_output(client: RawClient) -> None:
    client.call("server_info")
    client.call("search", query="x" * 2000)
    client.call("get_content", path="\n\x1b[31m")
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in client.lines)


def test_the_newer_protocol_is_served_without_a_handshake(place: Path) -> None:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        answer = client.request("tools/list", {"_meta": meta})
    assert len(answer["result"]["tools"]) == 10


def test_the_end_of_input_ends_the_server_in_the_middle_of_a_call(place: Path) -> None:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        client.ask("tools/call", {"name": "search", "arguments": {"query": "keys", "mode": "semantic"}})
        assert client.end_input() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_with_the_code_of_that_signal(place: Path, number: signal.Signals) -> None:
    with RawClient("--data-dir", place / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        client.process.send_signal(number)
        assert client.process.wait(timeout=30) == 128 + number


@pytest.mark.skipif(sys.platform == "win32", reason="a process has no other parent there")
def test_a_server_ends_with_its_parent_although_the_pipe_stays_open(place: Path) -> None:
    reader, writer = os.pipe()
    start = f'exec 3<&0; "{DIRINDEX}" serve --data-dir "{place / "data"}" <&3 & wait'
    os.write(writer, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with subprocess.Popen(["bash", "-c", start], stdin=reader, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline()
        parent.kill()
        assert parent.stdout.read() == b""  # the end of the pipe: the server has ended, too
    os.close(reader)
    os.close(writer)


def _place(directory: Path, n_files: int = _N_FILES) -> Path:
    docs = directory / "docs"
    docs.mkdir(exist_ok=True)
    (docs / "keys.md").write_text("# Operations\n\n## Key rotation\n\nRotate the signing keys every ninety days.\n")
    for number in range(n_files):
        recipe = f"# Soup {number}\n\nBoil carrots with {number} leaves of ginger, {'and stir ' * (number % 7)}well.\n"
        (docs / f"note{number:02}.md").write_text(recipe)
    run_command([DIRINDEX, "index", docs, "--quiet", "--data-dir", directory / "data"])
    return directory


def test_a_message_with_half_a_character_is_answered(client: RawClient) -> None:
    client.send_bytes(
        b'{"jsonrpc": "2.0", "id": "half", "method": "tools/call",'
        b' "params": {"name": "search", "arguments": {"query": "path:\\ud800 name"}}}\n'
    )
    assert "result" in client.answer_to("half")  # type: ignore[arg-type]
