"""A client of the plain contract runs unchanged: over HTTP, over MCP, and over MCP on standard input and output."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import plain_client
import pytest
from commands import DIRINDEX, run_command
from httpx2 import AsyncClient
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from plain_client import PlainMcp, PlainRest
from web_servers import WebAnswer, WebServer, new_key
from website import Website

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

TOOLS = {"search", "ingest_url", "list_collections", "get_document", "convert_to_text", "convert_and_ingest"}
EGRET = b"<html><body><article><h1>Egrets</h1><p>The egret stalks along the canal.</p></article></body></html>"


class Site:
    """A server that may fetch from a site on this machine, with the collections `alpha` and `beta`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.web = Website({f"/egret-{number}": (EGRET, {"Content-Type": "text/html"}) for number in range(4)})
        (place / "docs").mkdir()
        self.file = place / "docs/bittern.md"
        self.file.write_text("# Bitterns\n\nThe bittern booms at dusk.\n")
        data_dir = place / "data"
        command: list[str | Path] = [DIRINDEX, "index", place / "docs", "-q", "--data-dir", data_dir]
        run_command(command)
        self.key = new_key(data_dir, "admin", "--right", "admin")
        self.of_alpha = new_key(data_dir, "alpha", "--right", "write", "--collection", "alpha")
        self.environ = {
            "DIRINDEX_SERVING__FETCH_URLS": "true",
            "DIRINDEX_FETCHING__ALLOWED": f"127.0.0.0/8:{self.web.port}",
        }
        self.server = WebServer(data_dir, **self.environ)
        self.rest = PlainRest(self.server.root, self.key)
        for name in ("alpha", "beta", "keep"):
            assert self.server.ask("PUT", f"/api/v1/collections/{name}", {}, key=self.key).status == 201

    def ask(self, path: str, body: object, key: str = "", **headers: str) -> WebAnswer:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.ask("POST", f"/api/v1/{path}", body, key=key or self.key, headers=more)

    def found(self, query: str, collection: str) -> list[str]:
        body = {"query": query, "mode": "keyword", "collection": collection}
        return [hit["filename"] for hit in self.ask("search", body).json["hits"]]

    @contextlib.asynccontextmanager
    async def over_http(self) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {self.key}"}
        async with (
            AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(self.server.url, http_client=http)) as client,
        ):
            yield client

    @contextlib.asynccontextmanager
    async def over_stdio(self) -> AsyncIterator[Client]:
        environ = {**self.environ, "DIRINDEX_TOKEN": self.key, "DIRINDEX_DATA_DIR": str(self.place / "here")}
        words = ["serve", "--remote", self.server.root, str(self.place / "docs")]
        async with Client(
            stdio_client(StdioServerParameters(command=str(DIRINDEX), args=words, env=environ))
        ) as client:
            yield client


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.server.stop()
    site.web.stop()


def test_a_text_goes_into_the_collection_that_its_metadata_name(site: Site) -> None:
    sent = site.rest.ingest("The heron waits.", filename="h.md", collection="alpha", source="local")
    assert (sent.status, sent.chunks) == ("success", 1)
    assert (site.found("heron", "alpha"), site.found("heron", "default")) == (["h.md"], [])
    answer = site.rest.search("heron waits", "alpha", 1)
    assert (answer.query, answer.collection) == ("heron waits", "alpha")
    (hit,) = answer.results
    assert hit.text == "The heron waits."
    named = {"doc_id": sent.doc_id, "collection": "alpha", "filename": "h.md", "source": "local"}
    assert named.items() <= hit.metadata.items()
    assert site.rest.list_collections()["alpha"] >= 1


def test_a_program_that_knows_the_contract_alone_runs(site: Site) -> None:
    command: list[str | Path] = [sys.executable, Path(plain_client.__file__), site.server.root, site.key, "beta"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert "status='success'" in done.stdout
    assert "text='The plain contract.'" in done.stdout


def test_a_text_from_an_address_is_known_by_it(site: Site) -> None:
    metadata = {"filename": "ibis.md", "collection": "alpha", "source": "url", "url": "https://example.org/ibis"}
    first = site.rest.ingest("The ibis probes.", **metadata)
    again = site.rest.ingest("The ibis probes the mud.", **{**metadata, "url": "HTTPS://example.org:443/ibis"})
    assert again.doc_id == first.doc_id
    (hit,) = site.rest.search("ibis probes", "alpha", 1).results
    assert (hit.text, hit.metadata["source"], hit.metadata["url"]) == (
        "The ibis probes the mud.",
        "url",
        "https://example.org/ibis",
    )


@pytest.mark.parametrize("path", ["ingest_url", "ingest-url"])
def test_an_address_is_fetched_into_a_collection(site: Site, path: str) -> None:
    sent = site.rest.ingest_url(site.web.url("/egret-0"), "beta", path)
    assert (sent.status, sent.chunks) == ("success", 1)
    (hit,) = site.rest.search("egret canal", "beta", 1).results
    assert (hit.metadata["doc_id"], hit.metadata["url"]) == (sent.doc_id, site.web.url("/egret-0"))


def test_no_more_hits_than_top_k_are_answered(site: Site) -> None:
    for number in range(3):
        site.rest.ingest(f"The dunlin number {number}.", filename=f"{number}.md", collection="keep")
    assert [len(site.rest.search("dunlin", "keep", top_k).results) for top_k in (1, 2, 50)] == [1, 2, 3]
    for top_k in (0, 51, "5", 1.5):
        refused = site.ask("search", {"query": "dunlin", "collection": "keep", "top_k": top_k})
        assert (
            refused.status,
            f"'top_k' is '{top_k}'; it must be an integer from 1 to 50" in refused.json["detail"],
        ) == (422, True)


TEXT = {"text": "a"}


@pytest.mark.parametrize(
    ("path", "body", "values"),
    [
        ("ingest", {**TEXT, "collection": "beta", "metadata": {"collection": "alpha"}}, ["'beta'", "'alpha'"]),
        ("ingest", {**TEXT, "collection": "default", "metadata": {"collection": "alpha"}}, ["'default'", "'alpha'"]),
        ("ingest", {**TEXT, "filename": "a.md", "metadata": {"filename": "b.md"}}, ["'a.md'", "'b.md'"]),
        ("ingest", {**TEXT, "metadata": {"source": "local", "url": "https://a.example"}}, ["'local'", "https://a."]),
        ("ingest", {**TEXT, "metadata": {"source": "url", "url": ""}}, ["'metadata.source' is 'url'", "url' is ''"]),
        ("ingest", {**TEXT, "metadata": {"source": "url", "url": 5}}, ["'url'", "'5'"]),
        ("ingest", {**TEXT, "metadata": {"collection": ["alpha"]}}, ["'metadata.collection'", "alpha"]),
        ("ingest", {**TEXT, "metadata": {"collection": "Alpha 1"}}, ["'metadata.collection'", "'Alpha 1'"]),
        ("ingest", {**TEXT, "metadata": {"filename": 5}}, ["'metadata.filename'", "'5'"]),
        ("ingest_url", {"url": "https://a.example", "collection": "beta", "metadata": {"collection": "alpha"}},
         ["'beta'", "'alpha'"]),
        ("ingest_url", {"url": "https://a.example", "metadata": {"url": "https://b.example"}}, ["a.exam", "b.exam"]),
        ("search", {"query": "a", "collection": "alpha", "collections": ["beta"]}, ["'alpha'", "beta"]),
        ("search", {"query": "a", "collection": "default", "collections": ["beta"]}, ["'default'", "beta"]),
        ("search", {"query": "a", "top_k": 2, "limit": 3}, ["'2'", "'3'"]),
        ("ingest", b'{"text": "a", "metadata": {"collection": "alpha", "collection": "beta"}}', ["'alpha'", "'beta'"]),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_with_both_values(
    site: Site, path: str, body: object, values: list[str]
) -> None:
    refused = site.ask(path, body)
    assert (refused.status, refused.json["error"]) == (422, "invalid_request")
    assert all(value in refused.json["detail"] for value in values), refused.json["detail"]


def test_metadata_of_a_file_that_name_another_collection_are_refused(site: Site) -> None:
    path = "/api/v1/files/a.md?collection=beta&metadata=%7B%22collection%22:%22alpha%22%7D"
    refused = site.server.ask("PUT", path, b"a", key=site.key)
    assert (refused.status, "'beta'" in refused.json["detail"], "'alpha'" in refused.json["detail"]) == (
        422,
        True,
        True,
    )


def test_what_is_said_twice_alike_or_means_nothing_is_kept(site: Site) -> None:
    metadata = {"collection": "beta", "filename": "k.md", "source": "garden", "url": None, "shelf": 7}
    sent = site.ask("ingest", {"text": "The knot.", "collection": "beta", "filename": "k.md", "metadata": metadata})
    assert (sent.status, sent.json["document"]["metadata"]) == (201, metadata)
    alike = ({"collection": "beta", "collections": ["alpha", "beta"]}, {"collection": "beta", "collections": []})
    for arguments in (*alike, {"limit": 2, "top_k": 2}):
        assert site.ask("search", {"query": "knot", **arguments}).status == 200


def test_a_key_reaches_no_other_collection_by_the_metadata(site: Site) -> None:
    body = {"text": "The rail.", "metadata": {"collection": "beta"}}
    assert site.ask("ingest", body, site.of_alpha).status == 404
    lines = [{"text": "The crake.", "metadata": {"collection": name}} for name in ("alpha", "beta")]
    content = "\n".join(map(json.dumps, lines)).encode()
    answer = site.ask("ingest", content, site.of_alpha, Content_Type="application/x-ndjson")
    assert [json.loads(line)["status_code"] for line in answer.text.splitlines()] == [201, 404]
    assert (site.found("crake", "alpha"), site.found("crake", "beta")) == (["text.md"], [])


def _with_client(site: Site, transport: str, use: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    async def session() -> None:
        async with getattr(site, transport)() as client:
            await use(client)

    anyio.run(session)


@pytest.mark.parametrize(("transport", "number"), [("over_http", 1), ("over_stdio", 2)])
def test_the_tools_of_the_contract_are_there_and_work(site: Site, transport: str, number: int) -> None:
    async def use(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} >= TOOLS
        plain = PlainMcp(client)
        url = site.web.url(f"/egret-{number}")
        sent = await plain.ingest_url(url, "alpha")
        assert (sent.status, sent.chunks) == ("success", 1)
        answer = await plain.search("egret canal", "alpha", 1)
        assert (answer.query, answer.collection) == ("egret canal", "alpha")
        assert "stalks along the canal" in answer.results[0].text
        assert answer.results[0].metadata["collection"] == "alpha"
        assert "stalks along the canal" in await plain.get_document(sent.doc_id, "alpha")
        assert "bittern booms" in await plain.convert_to_text(site.file.as_uri())
        assert "stalks along the canal" in await plain.convert_to_text(url)
        converted = await plain.convert_and_ingest(site.file.as_uri(), "alpha")
        assert (converted.status, converted.chunks) == ("success", 1)
        assert "bittern booms" in await plain.get_document(converted.doc_id, "alpha")
        assert (await plain.convert_and_ingest(url, "alpha")).doc_id == sent.doc_id
        assert (await plain.list_collections())["alpha"] >= 2

    _with_client(site, transport, use)


def test_a_search_that_names_a_collection_twice_is_refused(site: Site) -> None:
    async def use(client: Client) -> None:
        answer = await client.call_tool("search", {"query": "egret", "collection": "alpha", "collections": ["beta"]})
        assert answer.is_error
        assert "'collections' is '['beta']' and 'collection' is 'alpha'" in answer.content[0].text  # type: ignore[union-attr]

    _with_client(site, "over_http", use)


def test_a_search_over_mcp_is_answered_as_it_was_asked_and_never_twice(site: Site) -> None:
    long = "\n\n".join(f"The sanderling number {number} runs along the shore. " * 20 for number in range(12))
    site.rest.ingest(long, filename="sanderling.md", collection="keep")

    async def use(client: Client) -> None:
        for _ in range(2):
            answer = await client.call_tool("search", {"query": "sanderling shore", "collection": "keep", "top_k": 50})
            structured = answer.structured_content
            assert "hits" not in structured
            assert all(hit["text"] for hit in structured["results"])
            size = len(json.dumps(structured, ensure_ascii=False).encode())
            assert size < 5_000
            assert json.loads(answer.content[0].text) == structured  # type: ignore[union-attr]
        own = (await client.call_tool("search", {"query": "sanderling", "collections": ["keep"]})).structured_content
        assert own["hits"]
        assert "results" not in own

    _with_client(site, "over_http", use)


@pytest.mark.slow
def test_a_local_server_takes_the_names_of_the_contract(site: Site) -> None:
    async def session() -> None:
        words = ["serve", "--data-dir", str(site.place / "data")]
        async with Client(stdio_client(StdioServerParameters(command=str(DIRINDEX), args=words))) as client:
            plain = PlainMcp(client)
            answer = await plain.search("bittern dusk", "default", 1)
            assert (answer.collection, answer.results[0].metadata["filename"]) == ("default", "bittern.md")
            assert "bittern booms" in await plain.convert_to_text(site.file.as_uri())

    anyio.run(session)


def test_a_file_that_is_not_indexed_is_not_sent_by_a_server(site: Site) -> None:
    (site.place / "private.md").write_text("Nobody may read this.\n")
    site.rest.ingest("The lapwing calls.", filename="lapwing.md", collection="alpha", source="local")

    async def use(client: Client) -> None:
        arguments = {"uri": (site.place / "private.md").as_uri(), "collection": "alpha"}
        for tool in ("convert_and_ingest", "convert_to_text"):
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error
            assert "is not in the index" in answer.content[0].text  # type: ignore[union-attr]

    _with_client(site, "over_http", use)
