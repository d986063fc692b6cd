"""`dirindex serve --remote`: an assistant here, an index there, and a network between them that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from commands import DIRINDEX, run_command
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ListRootsResult, Root
from pydantic import FileUrl
from remote_servers import Loopback, Unsteady
from teams import SECRET
from warm_commands import stand_in
from web_servers import WebServer, new_key

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

_OF_THE_SERVER = ["search", "grep", "outline", "get_content", "index", "list_collections", "get_document", "ingest_url"]
_LOCAL = ["convert_to_text", "convert_and_ingest"]


class There:
    """A server with a collection, and a key that may write to it alone."""

    def __init__(self, place: Path) -> None:
        data_dir = place / "there"
        command: list[str | Path] = [DIRINDEX, "collection", "create", "birds", "--data-dir", data_dir]
        run_command(command)
        self.key = new_key(data_dir, "writer", "--right", "write", "--collection", "birds")
        self.token_file = place / "token"
        self.token_file.write_text(self.key)
        self.token_file.chmod(0o600)
        self.server = WebServer(data_dir)
        self.documents = place / "documents"
        self.documents.mkdir()
        (self.documents / "heron.md").write_text(f"# Herons\n\nHerons wait in the shallows.\ntoken: {SECRET}\n")

    def listed(self) -> list[dict[str, Any]]:
        answer = self.server.ask("GET", "/api/v1/documents?collection=birds&state=complete", key=self.key)
        waiting = self.server.ask("GET", "/api/v1/documents?collection=birds&state=words", key=self.key)
        return [*(*answer.json["documents"], *waiting.json["documents"])]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    there = There(tmp_path_factory.mktemp("place"))
    with there.server:
        yield there


def _with_client(
    there: There,
    url: str,
    data_dir: Path,
    use: Callable[[Client], Coroutine[Any, Any, None]],
    *allowed: Path,
    **how: Any,
) -> None:
    words = ["serve", "--remote", url, "--token-file", there.token_file, "--data-dir", data_dir, *allowed]
    command, *arguments = stand_in(str(DIRINDEX), *map(str, words))
    parameters = StdioServerParameters(command=command, args=arguments)

    async def session() -> None:
        async with Client(stdio_client(parameters), **how) as client:
            await use(client)

    anyio.run(session)


def test_an_assistant_sends_a_file_and_finds_it(there: There, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) >= {*_OF_THE_SERVER, *_LOCAL}
        assert all("path" in tools[name].input_schema["required"] for name in _LOCAL)
        listed = await client.call_tool("list_collections", {})
        assert [one["name"] for one in listed.structured_content["collections"]] == ["birds"]
        converted = await client.call_tool("convert_to_text", {"path": "heron.md"})
        assert SECRET not in str(converted)
        sent = await client.call_tool(
            "convert_and_ingest", {"path": "heron.md", "collection": "birds", "tags": ["wader"]}
        )
        assert not sent.is_error, sent
        assert sent.structured_content["effect"] == "created"
        found = await client.call_tool("search", {"query": "shallows", "collections": ["birds"], "mode": "keyword"})
        [hit] = found.structured_content["hits"]
        assert "Herons wait in the shallows." in hit["excerpt"]
        text = await client.call_tool("get_content", {"path": hit["path"], "collection": "birds"})
        assert "Herons wait in the shallows." in text.structured_content["text"]
        lines = await client.call_tool("grep", {"pattern": "shallows", "collection": "birds"})
        assert lines.structured_content["total_lines"] == 1
        assert SECRET not in str((sent, found, text))

    _with_client(there, there.server.root, tmp_path / "here", use, there.documents)


def test_what_is_not_allowed_is_refused_with_a_reason(there: There, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("convert_and_ingest", {"path": str(there.token_file), "collection": "birds"}, "allowed directory"),
            ("convert_and_ingest", {"path": "heron.md", "collection": "fish"}, "fish"),
            ("get_document", {"doc_id": "../../metrics", "collection": "birds"}, "doc_id"),
            ("search", {"query": "herons", "collections": ["default"]}, "default"),
        ]
        for tool, arguments, reason in cases:
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error, answer
            assert reason in answer.content[0].text  # type: ignore[union-attr]

    _with_client(there, there.server.root, tmp_path / "here", use, there.documents)


def test_without_allowed_directories_those_of_the_client_count(there: There, tmp_path: Path) -> None:
    async def roots(_: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(there.documents.as_uri()))])

    async def use(client: Client) -> None:
        assert not (await client.call_tool("convert_to_text", {"path": "heron.md"})).is_error
        assert (await client.call_tool("convert_to_text", {"path": str(there.token_file)})).is_error

    _with_client(there, there.server.root, tmp_path / "here", use, list_roots_callback=roots, mode="legacy")


def test_a_document_is_sent_once_though_the_server_goes_away_before_and_after_it_took_it(
    there: There, tmp_path: Path
) -> None:
    """The first request is cut off, the second one is done and its answer lost, the third one is answered."""
    (there.documents / "kestrel.md").write_text("The kestrel hovers.\n")
    unsteady = Unsteady(there.server.port)
    heard: list[str] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        heard.append(message or "")

    async def use(client: Client) -> None:
        await client.call_tool("list_collections", {})
        unsteady.n_requests, unsteady.n_cut_before, unsteady.n_cut_after = 0, 1, 1
        arguments = {"path": "kestrel.md", "collection": "birds"}
        sent = await client.call_tool("convert_and_ingest", arguments, progress_callback=told)
        assert not sent.is_error, sent
        assert sent.structured_content["effect"] == "created"
        assert sent.structured_content["chunks"] == 1

    with Loopback(unsteady) as proxy:
        _with_client(there, proxy.url, tmp_path / "here", use, there.documents)
    assert unsteady.n_requests == 3
    assert len(heard) == 2
    assert [one["filename"] for one in there.listed()].count("kestrel.md") == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["http://search.example"], "not encrypted"),
        (["http://127.0.0.1:1", "--http", "127.0.0.1:0"], "--remote does not go with --http"),
        (["http://127.0.0.1:1", "--watch"], "--remote does not go with --watch"),
    ],
)
def test_what_cannot_be_meant_ends_the_command(tmp_path: Path, words: list[str], reason: str) -> None:
    command: list[str | Path] = [DIRINDEX, "serve", "--data-dir", tmp_path, "--remote", *words]
    ended = run_command(command, check=False)
    assert ended.returncode == 2
    assert reason in ended.stderr
