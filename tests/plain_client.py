"""A client of the plain contract, as programs of other systems have one: it asks in its words and reads nothing else.

It stands alone: run by itself, it asks the server at an address (`plain_client.py URL KEY COLLECTION`).
"""

# ruff: noqa: S310 - the URL is that of a server that whoever runs this names

from __future__ import annotations

import json
import sys
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUSES = frozenset({"success", "failed"})


class Ingested(NamedTuple):
    status: str
    doc_id: str
    chunks: int


class Hit(NamedTuple):
    text: str
    score: float
    metadata: Mapping[str, Any]


class Results(NamedTuple):
    results: list[Hit]
    query: str
    collection: str


def ingested(answer: Any) -> Ingested:
    assert answer["status"] in STATUSES
    assert isinstance(answer["doc_id"], str)
    assert type(answer["chunks"]) is int
    return Ingested(answer["status"], answer["doc_id"], answer["chunks"])


def results(answer: Any) -> Results:
    hits = [Hit(hit["text"], hit["score"], hit["metadata"]) for hit in answer["results"]]
    assert all(isinstance(hit.text, str) and isinstance(hit.score, float) for hit in hits)
    assert all(isinstance(hit.metadata, dict) for hit in hits)
    return Results(hits, answer["query"], answer["collection"])


def doc_counts(answer: Any) -> dict[str, int]:
    counts = {entry["name"]: entry["doc_count"] for entry in answer["collections"]}
    assert all(type(count) is int for count in counts.values())
    return counts


class PlainRest:
    """The contract over HTTP."""

    def __init__(self, root: str, key: str) -> None:
        self._root = root
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ingest(self, text: str, **metadata: str | None) -> Ingested:
        return ingested(self._ask("POST", "ingest", {"text": text, "metadata": metadata}))

    def ingest_url(self, url: str, collection: str, path: str = "ingest_url") -> Ingested:
        return ingested(self._ask("POST", path, {"url": url, "collection": collection}))

    def search(self, query: str, collection: str, top_k: int) -> Results:
        return results(self._ask("POST", "search", {"query": query, "collection": collection, "top_k": top_k}))

    def list_collections(self) -> dict[str, int]:
        return doc_counts(self._ask("GET", "collections"))

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._root}/api/v1/{path}", content, self._headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)


class Session(Protocol):
    """A caller of tools over any transport."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any: ...


class PlainMcp:
    """The contract over MCP."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def search(self, query: str, collection: str, top_k: int) -> Results:
        return results(await self._call("search", query=query, collection=collection, top_k=top_k))

    async def ingest_url(self, url: str, collection: str) -> Ingested:
        return ingested(await self._call("ingest_url", url=url, collection=collection))

    async def list_collections(self) -> dict[str, int]:
        return doc_counts(await self._call("list_collections"))

    async def get_document(self, doc_id: str, collection: str) -> str:
        return str((await self._call("get_document", doc_id=doc_id, collection=collection))["text"])

    async def convert_to_text(self, uri: str) -> str:
        return str((await self._call("convert_to_text", uri=uri))["markdown"])

    async def convert_and_ingest(self, uri: str, collection: str) -> Ingested:
        return ingested(await self._call("convert_and_ingest", uri=uri, collection=collection))

    async def _call(self, name: str, **arguments: Any) -> Any:
        result = await self._session.call_tool(name, arguments)
        assert not result.is_error, result
        return result.structured_content


def main(root: str, key: str, collection: str) -> None:
    """Send a text to a collection, and find it."""
    rest = PlainRest(root, key)
    sent = rest.ingest("The plain contract.", filename="plain.md", collection=collection, source="local")
    print(sent, rest.search("plain contract", collection, 1), rest.list_collections(), sep="\n")  # noqa: T201 - it is a program, too


if __name__ == "__main__":
    main(*sys.argv[1:])
