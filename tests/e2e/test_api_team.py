"""Documents and collections over HTTP: sent, found, given back byte for byte, deleted; and work on whole indexes."""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
import pytest
from commands import DIRINDEX, run_command
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from serving import text_of
from teams import SECRET
from web_servers import WebAnswer, WebServer, new_key

from directory_indexer.app import App
from directory_indexer.collections import CollectionApp
from directory_indexer.config import CollectionName, load_config
from directory_indexer.core.lock import HeldLock, try_lock
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.runs import hold_write_lock, recorded_run
from directory_indexer.storage.documents.runs import Origin, RunRequest, Verb
from directory_indexer.storage.registry import Registry
from directory_indexer.storage.registry.documents import Documents
from directory_indexer.storage.registry.operations import OperationKind, Operations
from directory_indexer.storage.registry.stored_documents import DocumentProgress, DocumentState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HERON = b"# Herons\r\n\r\nThe grey heron waits in the shallows.\r\n"


class Site:
    """A server with a collection `birds`, and keys for some and for all."""

    def __init__(self, place: Path) -> None:
        self.data_dir = place / "data"
        self.admin = new_key(self.data_dir, "admin", "--right", "admin")
        self.birder = new_key(self.data_dir, "birder", "--right", "write", "--collection", "birds")
        self.keeper = new_key(self.data_dir, "keeper", "--right", "admin", "--collection", "birds")
        self.server = WebServer(self.data_dir, DIRINDEX_SERVING__BACKUPS=str(place / "backups"))
        assert self.ask("PUT", "collections/birds", {"description": "of birds"}).status == 201

    def ask(self, method: str, path: str, body: object = None, *, key: str = "", **headers: str) -> WebAnswer:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.ask(method, f"/api/v1/{path}", body, key=key or self.admin, headers=given)

    def send(self, text: str, collection: str = "birds", **more: object) -> WebAnswer:
        return self.ask("POST", "ingest", {"text": text, "collection": collection, **more}, key=self.admin)

    def found(self, query: str, **more: object) -> list[str]:
        answer = self.ask("POST", "search", {"query": query, "mode": "keyword", "collection": "birds", **more})
        return [hit["filename"] for hit in answer.json["hits"]]

    def ended(self, answer: WebAnswer) -> Any:
        """Wait for an operation that an answer names."""
        return self.server.ask("GET", f"{answer.headers['Location']}?wait=50", key=self.admin).json

    def write_lock(self, collection: str = "birds") -> HeldLock:
        """Write to a collection, as an index run would, until it is released."""
        path = self.data_dir / f"team/collections/{collection}/write.lock"
        while (lock := try_lock(path, exclusive=True)) is None:
            time.sleep(0)
        return lock


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.server.stop()


def test_a_walk_from_a_collection_to_a_document_and_back(site: Site) -> None:
    assert site.ask("PUT", "collections/walks", {}).headers["Location"] == "/api/v1/collections/walks"
    again = site.ask("PUT", "collections/walks", {"description": "to walk"})
    assert (again.status, again.json["description"]) == (200, "to walk")
    sent = site.send("The larch of the ridge.", "walks", filename="larch.md", metadata={"tags": ["tree"], "shelf": 7})
    assert (sent.status, sent.json["effect"]) == (201, "created")
    assert sent.json["state"] in {"words", "complete"}
    doc_id = sent.json["doc_id"]
    hits = site.ask("POST", "search", {"query": "larch tag:tree", "collection": "walks"}).json["hits"]
    assert [(hit["doc_id"], hit["filename"], hit["collection"]) for hit in hits] == [(doc_id, "larch.md", "walks")]
    read = site.ask("GET", f"documents/{doc_id}?collection=walks").json
    assert (read["text"], read["sent"]["metadata"]["shelf"]) == ("The larch of the ridge.", 7)
    (listed,) = site.ask("GET", "documents?collection=walks").json["documents"]
    assert (listed["doc_id"], listed["sent"]["filename"]) == (doc_id, "larch.md")
    assert site.ask("GET", f"documents/{doc_id}/original?collection=walks").text == "The larch of the ridge."
    assert site.send("The larch of the ridge.", "walks", filename="larch.md").json["effect"] == "replaced"
    assert site.ask("GET", f"documents/{doc_id}").status == 404
    assert site.ask("DELETE", f"documents/{doc_id}?collection=walks").status == 204
    assert site.ask("GET", f"documents/{doc_id}?collection=walks").status == 404
    assert site.ask("POST", "search", {"query": "larch", "collection": "walks"}).json["hits"] == []
    assert site.ask("DELETE", "collections/walks").status == 204
    gone, unknown = (site.ask("GET", f"collections/{name}") for name in ("walks", "nowhere"))
    assert gone.json["detail"].replace("walks", "nowhere") == unknown.json["detail"]


def test_a_file_comes_back_byte_for_byte_and_is_never_shown_as_a_page(site: Site) -> None:
    page = b"<script>alert(1)</script><p>The kestrel hovers.</p>\r\n"
    name = "Bericht%20%E2%84%96%201.html"
    sent = site.ask("PUT", f"files/{name}?collection=birds&tag=a&tag=b", page, Content_Type="text/html")
    assert (sent.status, sent.json["document"]["metadata"]) == (201, {"tags": ["a", "b"]})
    back = site.ask("GET", f"documents/{sent.json['doc_id']}/original?collection=birds")
    assert back.text.encode() == page
    assert back.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
    assert back.headers["Content-Security-Policy"].startswith("sandbox")
    assert back.headers["X-Content-Type-Options"] == "nosniff"
    assert site.found("kestrel") == ["Bericht № 1.html"]


def test_an_original_is_given_in_parts_and_not_again_to_who_has_it(site: Site) -> None:
    doc_id = site.ask("PUT", "files/heron.md?collection=birds", HERON).json["doc_id"]
    path = f"documents/{doc_id}/original?collection=birds"
    etag = site.ask("GET", path).headers["ETag"]
    known = site.ask("GET", path, If_None_Match=f'"x", W/{etag}')
    assert (known.status, known.text, known.headers["ETag"]) == (304, "", etag)
    assert site.ask("GET", path, If_None_Match='"x"').status == 200
    part = site.ask("GET", path, Range="bytes=2-7")
    assert (part.status, part.text, part.headers["Content-Range"]) == (206, "Herons", f"bytes 2-7/{len(HERON)}")
    assert site.ask("GET", path, Range="bytes=-4", If_Range=etag).text == "s.\r\n"[-4:]
    assert site.ask("GET", path, Range="bytes=-4", If_Range='"old"').status == 200
    several = site.ask("GET", path, Range="bytes=0-0,2-7")
    assert several.headers["Content-Type"].startswith("multipart/byteranges")
    assert several.text.count("Content-Range: bytes") == 2
    assert len(several.text.encode()) == int(several.headers["Content-Length"])
    beyond = site.ask("GET", path, Range=f"bytes={len(HERON)}-")
    assert (beyond.status, beyond.json["error"]) == (416, "unsatisfiable_range")
    head = site.ask("HEAD", path)
    assert (head.text, head.headers["Content-Length"]) == ("", str(len(HERON)))


def test_lines_are_answered_by_lines_and_one_that_is_wrong_keeps_none_back(site: Site) -> None:
    lines = [{"text": f"The dunlin number {number}.", "collection": "birds", "id": f"n{number}"} for number in range(3)]
    wrong: list[object] = [{"text": ""}, "nonsense", {"text": "a", "collection": "nowhere"}]
    body = "\n\n".join(json.dumps(one) for one in [*lines, *wrong]).encode() + b"\nno json\n"
    answer = site.ask("POST", "ingest", body, Content_Type="application/x-ndjson")
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["line"] for one in told] == [1, 2, 3, 4, 5, 6, 7]
    assert [one["status_code"] for one in told] == [201, 201, 201, 422, 400, 404, 400]
    assert sorted(site.found("dunlin", limit=50)) == ["n0.md", "n1.md", "n2.md"]
    refused = site.ask("POST", "ingest", body, Content_Type="application/x-ndjson", Idempotency_Key="a")
    assert refused.status == 422


def test_a_request_that_is_sent_again_is_answered_as_before(site: Site) -> None:
    body = {"text": "The avocet wades.", "collection": "birds", "id": "avocet"}
    first = site.ask("POST", "ingest", body, Idempotency_Key="one")
    again = site.ask("POST", "ingest", body, Idempotency_Key="one")
    assert (again.status, again.text) == (first.status, first.text) == (201, first.text)
    assert again.headers["Idempotency-Replayed"] == "true"
    other = site.ask("POST", "ingest", {**body, "text": "Another."}, Idempotency_Key="one")
    assert (other.status, other.json["error"]) == (422, "key_used")
    assert site.ask("POST", "ingest", body, key=site.birder, Idempotency_Key="one").json["effect"] == "unchanged"
    failed = site.ask("POST", "ingest", {**body, "text": " "}, Idempotency_Key="two")
    assert failed.status == 422
    assert site.ask("POST", "ingest", body, Idempotency_Key="two").status == 200
    assert site.ask("POST", "ingest", body, Idempotency_Key="a b").status == 422


def test_a_file_name_may_stand_among_what_is_said(site: Site) -> None:
    said = {"filename": "redstart.txt", "source": "garden"}
    sent = site.send("The redstart sings.", metadata=said).json["document"]
    assert (sent["filename"], sent["media_type"], sent["metadata"]) == ("redstart.txt", "text/plain", said)
    contradicted = site.send("The redstart sings.", filename="other.txt", metadata=said)
    assert (contradicted.status, "other.txt" in contradicted.json["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("given", "status", "error"),
    [
        ({"text": " \n"}, 422, "content_refused"),
        ({"text": f"Log in with {SECRET} at once."}, 422, "content_refused"),
        ({"text": "a", "filename": "a\nb"}, 422, "invalid_request"),
        ({"text": "a", "metadata": {"x": float("inf")}}, 400, "invalid_json"),
        ({"text": "a", "metadata": [1]}, 422, "invalid_request"),
        ({"text": "a", "metadata": {"x": "\ud800"}}, 422, "invalid_request"),
        ({"text": "a", "collection": "nowhere"}, 404, "not_found"),
        ({"text": "a", "collection": "../birds"}, 422, "invalid_request"),
        ({"text": "a", "wait": "ever"}, 422, "invalid_request"),
    ],
)
def test_what_is_not_taken_says_why(site: Site, given: dict[str, Any], status: int, error: str) -> None:
    answer = site.send(**{"collection": "birds", **given})
    assert (answer.status, answer.json["error"]) == (status, error)
    assert SECRET not in answer.text


def test_what_is_there_already_and_what_is_too_large_is_refused(site: Site) -> None:
    site.send("The knot.", id="knot")
    conflict = site.send("The other knot.", id="knot", on_conflict="error")
    assert (conflict.status, conflict.json["error"]) == (409, "conflict")
    assert site.send("The other knot.", id="knot", on_conflict="skip").json["effect"] == "skipped"
    large = site.ask("PUT", "files/large.md?collection=birds", b"word ", Content_Length="11000000")
    assert (large.status, large.json["error"]) == (413, "too_large")
    assert "large.md" not in site.ask("GET", "documents?collection=birds").text
    assert site.ask("PUT", "files/a.md?collection=birds&metadata=nonsense", b"a").status == 422


def test_nothing_is_fetched_unless_the_operator_allows_it(site: Site) -> None:
    answer = site.ask("POST", "ingest_url", {"url": "https://example.org/", "collection": "birds"})
    assert (answer.status, "serving.fetch_urls" in answer.json["detail"]) == (422, True)
    doc_id = site.send("The ruff.", id="ruff").json["doc_id"]
    assert site.ask("POST", f"documents/{doc_id}/refresh", {"collection": "birds"}).status == 422


def test_who_does_not_wait_is_told_where_to_ask(site: Site) -> None:
    sent = site.send("The slow godwit.", id="godwit", wait="none")
    assert (sent.status, sent.json["state"]) == (202, "queued")
    ended = site.ended(sent)
    assert (ended["kind"], ended["state"], ended["doc_id"]) == ("ingest", "completed", sent.json["doc_id"])
    assert site.found("godwit") == ["godwit.md"]


def test_an_ingest_is_paused_resumed_and_cancelled(site: Site) -> None:
    with site.write_lock():
        paused, dropped = (site.send(f"The {name} waits.", id=name, wait="none") for name in ("curlew", "whimbrel"))
        place = paused.headers["Location"].removeprefix("/api/v1/")
        assert site.ask("POST", f"{place}/pause").json["state"] == "paused"
        gone = site.ask("DELETE", dropped.headers["Location"].removeprefix("/api/v1/"))
        assert (gone.status, gone.json["state"]) == (202, "cancelled")
        assert site.ask("GET", f"documents/{dropped.json['doc_id']}?collection=birds").status == 404
    assert site.send("The snipe.", id="snipe").status == 201
    assert site.found("curlew") == []
    assert site.ask("GET", place).json["state"] == "paused"
    assert site.ask("POST", f"{place}/resume").status == 202
    assert site.ended(paused)["state"] == "completed"
    assert site.found("curlew") == ["curlew.md"]
    assert site.found("whimbrel") == []
    assert site.ask("POST", f"{place}/pause").json["error"] == "has_ended"


def test_words_come_later_while_others_write_and_a_deletion_is_told_at_once(site: Site) -> None:
    doc_id = site.send("The plover.", id="plover", wait="complete").json["doc_id"]
    with site.write_lock():
        late = site.send("The lapwing.", id="lapwing", wait_seconds=0)
        assert (late.status, late.json["state"]) == (202, "queued")
        site.ask("DELETE", late.headers["Location"].removeprefix("/api/v1/"))
        assert site.ask("GET", f"documents/{doc_id}?collection=birds").status == 200
    assert site.found("lapwing") == []


def test_a_document_is_deleted_for_every_verb_while_others_write(site: Site) -> None:
    site.ask("PUT", "collections/chats", {})
    sent = site.send("# Whinchat\n\nThe whinchat perches on gorse.", "chats", id="whinchat", wait="complete").json
    site.send("# Stonechat\n\nThe stonechat perches on gorse, too.", "chats", id="stonechat", wait="complete")
    (path,) = (file["path"] for file in _lines(site, "whinchat perches"))
    with site.write_lock("chats"):
        assert site.ask("DELETE", f"documents/{sent['doc_id']}?collection=chats").status == 202
        assert _lines(site, "whinchat") == []
        assert len(_lines(site, "gorse")) == 1
        assert site.ask("GET", f"outline?collection=chats&path={quote(path)}").status == 404
        parent = quote(path.rpartition("/")[0])
        assert site.ask("GET", f"outline?collection=chats&path={parent}").status == 404
        facets = {"query": "gorse", "collection": "chats", "facets": True, "mode": "keyword"}
        assert site.ask("POST", "search", facets).json["facets"]["types"] == {"markdown": 1}


def _lines(site: Site, pattern: str) -> Any:
    return site.ask("POST", "grep", {"pattern": pattern, "collection": "chats"}).json["files"]


def test_collections_are_searched_together(site: Site) -> None:
    site.ask("PUT", "collections/trees", {})
    site.send("The alder of the marsh.", "trees", id="alder")
    site.send("The bittern of the marsh.", id="bittern")
    answer = site.ask("POST", "search", {"query": "marsh", "mode": "keyword", "collections": ["birds", "trees"]})
    assert {(hit["collection"], hit["filename"]) for hit in answer.json["hits"]} == {
        ("trees", "alder.md"),
        ("birds", "bittern.md"),
    }
    for names in (["birds", "nowhere"], ["birds", "trees"]):
        refused = site.ask("POST", "search", {"query": "marsh", "collections": names}, key=site.birder)
        assert refused.json["detail"] == f"there is no collection '{names[1]}'"
    both = {"query": "marsh", "collections": ["birds"], "collection": "trees"}
    assert site.ask("POST", "search", both).status == 422


def test_lists_go_on_page_by_page(site: Site) -> None:
    for number in range(5):
        site.send(f"The tern number {number}.", id=f"tern{number}", wait="none")
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = site.ask("GET", f"documents?collection=birds&limit=2&cursor={cursor}").json
        seen += [one["doc_id"] for one in page["documents"]]
        cursor = page["next_cursor"]
    whole = site.ask("GET", "documents?collection=birds&limit=500").json["documents"]
    assert seen == [one["doc_id"] for one in whole] == sorted(set(seen))
    assert {one["sent"]["state"] for one in whole} <= {"queued", "words", "complete"}


def test_administrative_work_is_done_one_by_one(site: Site) -> None:
    site.send("The dunnock hides.", id="dunnock")
    for kind in ("optimize", "purge", "rebuild"):
        ended = site.ended(site.ask("POST", f"admin/{kind}", {"collection": "birds"}, key=site.keeper))
        assert (ended["kind"], ended["state"], ended["collection"]) == (kind, "completed", "birds"), ended
    assert site.found("dunnock") == ["dunnock.md"]
    made = site.ended(site.ask("POST", "admin/backup", {"name": "monday"}))
    assert (made["state"], made["collection"], made["result"]["place"]) == ("completed", None, "monday")
    assert site.ask("POST", "admin/backup", {"name": "monday"}).status == 422
    assert site.ask("POST", "admin/backup", {"name": "../monday"}).status == 422
    assert site.ask("POST", "admin/backup", {}, key=site.keeper).status == 403
    assert site.ask("POST", "admin/purge", {"collection": "birds"}, key=site.birder).status == 403
    assert site.ask("POST", "admin/purge", {"collection": "nowhere"}).status == 404
    assert "backup" not in site.ask("GET", "operations?collection=birds", key=site.keeper).text


def test_work_is_paused_resumed_and_cancelled_and_a_second_one_hears_of_the_first(site: Site) -> None:
    with site.write_lock():
        begun = site.ask("POST", "admin/optimize", {"collection": "birds"})
        place = begun.headers["Location"].removeprefix("/api/v1/")
        second = site.ask("POST", "admin/purge", {})
        assert (second.status, second.json["error"]) == (409, "occupied")
        assert begun.json["id"] in second.json["detail"]
        site.ask("POST", f"{place}/pause")
        assert site.ended(begun)["state"] == "paused"
        assert site.ask("POST", f"{place}/resume").json["state"] == "running"
        site.ask("DELETE", place)
        assert site.ended(begun)["state"] == "cancelled"
        assert site.ask("POST", f"{place}/resume").status == 409


def test_work_whose_process_died_is_shown_as_failed(site: Site) -> None:
    registry = Registry(site.data_dir / "team/team.db")
    row = Operations(registry).insert_running(OperationKind.PURGE, "birds", {})
    registry.close()
    shown = site.ask("GET", f"operations/birds.{row.name}").json
    assert (shown["state"], shown["message"]) == ("failed", "its process ended unexpectedly")
    assert site.ended(site.ask("POST", "admin/purge", {"collection": "birds"}))["state"] == "completed"


def test_a_key_for_one_collection_has_that_one_over_mcp_and_no_other(site: Site) -> None:
    site.ask("PUT", "collections/secrets", {})
    site.send("The zanzibar plan.", "secrets", id="plan")
    site.send("The sanderling runs.", id="sanderling")

    async def scenario() -> list[str]:
        headers = {"Authorization": f"Bearer {site.birder}"}
        async with (
            AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(site.server.url, http_client=http)) as client,
        ):

            async def call(tool: str, **given: Any) -> str:
                result = await client.call_tool(tool, given)
                return text_of(result.model_dump())

            return [
                await call("search", query="sanderling zanzibar", mode="keyword", collections=["birds"]),
                await call("search", query="sanderling zanzibar", mode="keyword"),
                await call("search", query="zanzibar", mode="keyword", collections=["birds", "secrets"]),
                await call("search", query="zanzibar", mode="keyword", collections=["nowhere"]),
                await call("server_info", collection="birds"),
                await call("server_info", collection="secrets"),
                await call("index", collection="secrets"),
                await call("get_content", path="plan.md", collection="birds"),
                await call("get_content", path="sanderling.md", collection="birds"),
            ]

    found, default, secret, unknown, info, *others, text = anyio.run(scenario)
    assert "sanderling" in found
    assert "no collection 'default'" in default
    assert secret.replace("secrets", "nowhere") == unknown
    assert "collections: birds" in info
    assert "runs" in text
    assert not [one for one in (found, default, secret, unknown, info, *others) if "plan." in one and "zanz" in one]


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="there is no such signal")
@pytest.mark.slow
def test_a_server_ends_while_documents_wait_and_the_next_one_goes_on_with_them(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(site.write_lock())
        sent = site.send("The turnstone turns.", id="turnstone", wait="none")
        site.ask("POST", "admin/optimize", {"collection": "birds"})
        assert site.server.stop() == 128 + signal.SIGTERM
    site.server = WebServer(site.data_dir)
    assert site.ended(sent)["state"] == "completed"
    assert site.found("turnstone") == ["turnstone.md"]
    states = {one["kind"]: one["state"] for one in site.ask("GET", "operations?collection=birds").json["operations"]}
    assert states["optimize"] == "interrupted"
    site.server.stop()


def test_an_index_run_is_paused_and_another_one_goes_on_with_it(site: Site, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/redshank.md").write_text("The redshank pipes.\n")
    command: list[str | Path] = [
        DIRINDEX,
        "index",
        tmp_path / "notes",
        "-q",
        "--collection",
        "birds",
        "--data-dir",
        site.data_dir,
    ]
    run_command(command)
    app = App(load_config(file=None, data_dir=site.data_dir, environ={}))
    birds = CollectionApp(app, CollectionName("birds"))
    request = RunRequest(Verb.INDEX, [file_path(tmp_path / "notes")], Origin.SERVER, "{}")
    with hold_write_lock(birds.docstore, birds.lock_path) as lock:
        waiting = site.ask("POST", "index", {"collection": "birds"})
        place = waiting.headers["Location"].removeprefix("/api/v1/")
        assert site.ask("POST", f"{place}/pause").json["error"] == "conflict"
        site.ask("DELETE", place)
        with recorded_run(birds.docstore, request, lock=lock, listener=lambda _: None, stop_reason=lambda: None) as run:
            listed = site.ask("GET", "operations?collection=birds").json["operations"]
            (name,) = (one["id"] for one in listed if one["kind"] == "index" and one["state"] == "running")
            assert site.ask("POST", f"operations/{name}/pause", key=site.birder).status == 202
            while not run.must_stop:
                assert site.server.process.poll() is None
    birds.close()
    app.close()
    assert site.ask("GET", f"operations/{name}").json["state"] == "paused"
    resumed = site.ask("POST", f"operations/{name}/resume", key=site.birder)
    assert resumed.status == 202
    ended = site.ask("GET", f"operations/{resumed.json['id']}?wait=50").json
    assert ended["state"] == "completed", ended
    assert site.ask("POST", f"operations/{resumed.json['id']}/resume").status == 409


def test_an_ingest_has_ended_when_another_process_gave_it_its_vectors(site: Site) -> None:
    sent = site.send("The wryneck twists.", filename="wryneck.md", wait="complete").json
    registry = Registry(site.data_dir / "team/team.db")
    documents = Documents(registry, "birds")
    known = documents.get(sent["doc_id"])
    assert known
    documents.store_progress([DocumentProgress(known.doc_id, known.version, DocumentState.WORDS, "", known.n_chunks)])
    registry.close()

    listed = site.ask("GET", "operations?collection=birds").json["operations"]
    shown = site.ask("GET", f"operations/birds.ingest-{known.doc_id}-{known.version}").json

    # Where the server has seen it by itself, it is no longer listed.
    assert {one["state"] for one in listed if known.doc_id in one["id"]} <= {"completed"}
    assert shown["state"] == "completed"


def test_a_document_whose_new_version_is_cancelled_is_as_it_was_before(site: Site) -> None:
    before = site.send("The old whinchat probes.", id="swap", title="Old", wait="complete").json
    place = f"documents/{before['doc_id']}/original?collection=birds"
    with site.write_lock():
        changed = site.send("The new whinchat probes.", id="swap", title="New", wait="none")
        again = site.send("The newest whinchat probes.", id="swap", title="Newest", wait="none")
        assert again.json["effect"] == "replaced"
        assert site.ask("GET", place).text == "The newest whinchat probes."
        newer = site.ask("DELETE", changed.headers["Location"].removeprefix("/api/v1/"))
        assert (newer.status, newer.json["error"]) == (409, "has_ended")
        at = again.headers["Location"].removeprefix("/api/v1/")
        assert site.ask("DELETE", at).json["state"] == "cancelled"
        assert site.ask("GET", place).text == "The old whinchat probes."
    assert site.send("The ruff waits.", id="ruff2").status == 201
    assert site.ask("GET", at).json["state"] == "cancelled"
    assert site.found("whinchat") == [before["document"]["filename"]]
    assert site.ask("GET", f"documents/{before['doc_id']}?collection=birds").json["text"] == "The old whinchat probes."
    swapped = site.send("The last whinchat probes.", id="swap", wait="words")
    if swapped.json["operation"] and swapped.json["state"] == "words":
        late = site.ask("DELETE", f"operations/{swapped.json['operation']}")
        assert (late.status, late.json["error"]) in {(409, "conflict"), (409, "has_ended")}
    assert site.ask("GET", place).text == "The last whinchat probes."
    assert not list((site.data_dir / "team/collections/birds/replaced").iterdir())


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("POST", "search?collection=birds&limit=3", {"query": "heron"}, "'collection', 'limit'"),
        ("POST", "ingest?collection=birds", {"text": "a"}, "'collection'"),
        ("PUT", "collections/birds?description=x", {}, "'description'"),
        ("DELETE", "documents/aaaaaaaaaaaaaaaaaaaaaaaa", {"collection": "birds"}, "no body"),
        ("GET", "documents", {"collection": "birds"}, "no body"),
    ],
)
def test_arguments_at_the_wrong_place_are_refused(
    site: Site, method: str, path: str, body: dict[str, Any], told: str
) -> None:
    answer = site.ask(method, path, body)
    assert (answer.status, told in answer.json["detail"]) == (422, True), answer.text


def test_arguments_beside_lines_are_refused(site: Site) -> None:
    answer = site.ask("POST", "ingest?collection=birds", b'{"text": "a"}\n', Content_Type="application/x-ndjson")
    assert (answer.status, "'collection'" in answer.json["detail"]) == (422, True)


def test_a_document_that_is_being_deleted_is_listed_only_for_who_asks_for_those(site: Site) -> None:
    doc_id = site.send("The leaving brambling.", id="brambling", wait="complete").json["doc_id"]
    with site.write_lock():
        registry = Registry(site.data_dir / "team/team.db")
        Documents(registry, "birds").mark_deleting(doc_id)
        registry.close()
        listed = {one["doc_id"] for one in site.ask("GET", "documents?collection=birds&limit=500").json["documents"]}
        leaving = site.ask("GET", "documents?collection=birds&state=deleting").json["documents"]
        assert doc_id not in listed
        assert [one["doc_id"] for one in leaving] == [doc_id]
    assert site.ask("POST", "admin/purge", {"collection": "birds"}).status == 202


def test_a_run_of_a_terminal_is_paused_and_cancelled_over_mcp_by_those_with_all_rights(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/knot.md").write_text("The knot flocks.\n")
    command: list[str | Path] = [DIRINDEX, "index", tmp_path / "notes", "-q", "--data-dir", site.data_dir]
    run_command([*command, "--collection", "birds"])
    app = App(load_config(file=None, data_dir=site.data_dir, environ={}))
    birds = CollectionApp(app, CollectionName("birds"))
    request = RunRequest(Verb.INDEX, [file_path(tmp_path / "notes")], Origin.TERMINAL, "{}")

    async def asked(key: str, action: str, seconds: int = 0) -> str:
        async with (
            AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
            Client(streamable_http_client(site.server.url, http_client=http)) as client,
        ):
            given = {"collection": "birds", "action": action, "wait_seconds": seconds}
            return text_of((await client.call_tool("index", given)).model_dump())

    with hold_write_lock(birds.docstore, birds.lock_path) as lock:
        with recorded_run(birds.docstore, request, lock=lock, listener=lambda _: None, stop_reason=lambda: None) as run:
            assert "terminal" in anyio.run(asked, site.birder, "cancel")
            assert "terminal" in anyio.run(asked, site.birder, "pause")
            assert not run.must_stop
            assert "running" in anyio.run(asked, site.keeper, "pause")
            while not run.must_stop:
                assert site.server.process.poll() is None
        with recorded_run(birds.docstore, request, lock=lock, listener=lambda _: None, stop_reason=lambda: None) as run:
            assert "running" in anyio.run(asked, site.keeper, "cancel")
            while not run.must_stop:
                assert site.server.process.poll() is None
    assert "completed" in anyio.run(asked, site.birder, "resume", 50)
    assert "no index run is paused" in anyio.run(asked, site.birder, "resume")
    birds.close()
    app.close()


def test_assistants_send_list_and_have_back_documents_as_far_as_their_key_goes(site: Site) -> None:
    reader = new_key(site.data_dir, "tool-reader", "--collection", "birds")

    async def tools(key: str, *calls: tuple[str, dict[str, Any]]) -> tuple[set[str], list[Any]]:
        async with (
            AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
            Client(streamable_http_client(site.server.url, http_client=http)) as client,
        ):
            names = {tool.name for tool in (await client.list_tools()).tools}
            return names, [await client.call_tool(name, given) for name, given in calls]

    text = "The phalarope spins.\n"
    of_writer, (sent, listed, collections) = anyio.run(
        tools,
        site.birder,
        ("ingest", {"collection": "birds", "text": text, "filename": "phalarope.txt", "metadata": {"tags": ["reed"]}}),
        ("list_documents", {"collection": "birds", "limit": 100}),
        ("list_collections", {}),
    )
    doc_id = sent.structured_content["doc_id"]
    assert sent.structured_content["document"]["metadata"] == {"tags": ["reed"]}
    assert doc_id in {one["doc_id"] for one in listed.structured_content["documents"]}
    assert [one["name"] for one in collections.structured_content["collections"]] == ["birds"]
    assert site.found("phalarope") == ["phalarope.txt"]

    of_reader, (original, refused, forbidden, unknown) = anyio.run(
        tools,
        reader,
        ("get_document_original", {"collection": "birds", "doc_id": doc_id}),
        ("ingest", {"collection": "birds", "text": text}),
        ("list_documents", {"collection": "default"}),
        ("list_documents", {"collection": "nowhere"}),
    )
    assert base64.b64decode(original.content[1].resource.blob) == text.encode()
    assert of_writer - of_reader == {"ingest", "ingest_url", "convert_and_ingest"}
    assert {"list_collections", "list_documents", "get_document", "get_document_original"} <= of_reader
    assert refused.is_error
    assert "does not have the right" in text_of(refused.model_dump())
    assert forbidden.is_error
    assert text_of(forbidden.model_dump()).replace("default", "") == text_of(unknown.model_dump()).replace(
        "nowhere", ""
    )


def test_what_is_a_secret_or_means_nothing_is_refused_to_assistants_too(site: Site) -> None:
    async def answers() -> list[str]:
        async with (
            AsyncClient(headers={"Authorization": f"Bearer {site.birder}"}, timeout=60) as http,
            Client(streamable_http_client(site.server.url, http_client=http)) as client,
        ):
            calls: list[tuple[str, dict[str, Any]]] = [
                ("ingest", {"collection": "birds", "text": f"token: {SECRET}"}),
                ("ingest", {"collection": "birds", "text": "a", "allow_secrets": True}),
                ("ingest_url", {"collection": "birds", "url": "https://example.org/"}),
                ("get_document_original", {"collection": "birds", "doc_id": "a" * 24}),
            ]
            results = [await client.call_tool(name, given) for name, given in calls]
            assert all(one.is_error for one in results)
            return [text_of(one.model_dump()) for one in results]

    secret, unknown, web, missing = anyio.run(answers)
    assert "secret" in secret
    assert SECRET not in secret
    assert "unknown argument 'allow_secrets'" in unknown
    assert "fetching from the web is disabled" in web
    assert "no document" in missing
