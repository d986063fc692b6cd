"""Somebody at a terminal with collections, documents and a backup."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, run_command
from shells import Shell
from teams import SECRET

from directory_indexer.app import App
from directory_indexer.collections import Collections
from directory_indexer.collections.documents import DocumentOperations
from directory_indexer.config import load_config
from directory_indexer.core.lock import write_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, tmp_path)


def test_a_walk_through_collections_and_documents(shell: Shell, tmp_path: Path) -> None:
    content = "# Herons\r\n\r\nThe grey heron waits in the shallows.\r\n"
    path = shell.docs / "heron.md"
    path.write_bytes(content.encode())
    assert (
        "made the collection 'birds'" in shell.run("collection", "create", "birds", "--description", "of birds").stderr
    )
    assert "birds" in shell.run("collection", "create", "birds", expect=2).stderr
    (sent,) = shell.json("add", path, "--collection", "birds", "--tag", "wader", "--meta", "shelf=7")["documents"]
    assert (sent["effect"], sent["document"]["state"]) == ("created", "complete")
    assert sent["document"]["metadata"] == {"shelf": 7, "tags": ["wader"]}
    doc_id = sent["document"]["doc_id"]

    (hit,) = shell.json("search", "heron tag:wader", "--collection", "birds")["hits"]
    assert (hit["collection"], hit["doc_id"], hit["filename"]) == ("birds", doc_id, "heron.md")
    assert doc_id in shell.run("documents", "list", "--collection", "birds").stdout
    assert "shelf: 7" in shell.run("documents", "get", doc_id, "--collection", "birds").stdout
    assert "grey heron" in shell.run("documents", "get", doc_id, "--text", "--collection", "birds").stdout
    shell.run("documents", "original", doc_id, tmp_path / "copy.md", "--collection", "birds")
    assert (tmp_path / "copy.md").read_bytes() == content.encode()
    shell.run("documents", "original", doc_id, tmp_path / "copy.md", "--collection", "birds", expect=2)
    raw = run_command([DIRINDEX, "documents", "original", doc_id, "-", "--collection", "birds"], env=shell.environ)
    assert raw.stdout == content

    listed = {one["name"]: one for one in shell.json("collection", "list")["collections"]}
    assert (listed["birds"]["documents"], listed["birds"]["description"]) == ({"complete": 1}, "of birds")
    shell.run("documents", "delete", doc_id, "--collection", "birds")
    shell.run("documents", "get", doc_id, "--collection", "birds", expect=1)
    assert shell.json("search", "heron", "--collection", "birds", expect=1)["hits"] == []
    shell.run("collection", "delete", "birds")
    shell.run("search", "heron", "--collection", "birds", expect=1)


def test_a_deleted_document_is_gone_for_every_command_while_others_write(shell: Shell) -> None:
    for bird in ("whinchat", "stonechat"):
        code = f'def {bird}():\n    return "perches on gorse"\n'
        shell.run("add", "-", "--create", "--collection", "chats", "--name", f"{bird}.py", stdin=code)
    (hit,) = shell.json("search", "whinchat", "--mode", "keyword", "--collection", "chats")["hits"]
    lists = [
        *(["search", "perches on gorse", "--mode", mode, "--all"] for mode in ("keyword", "semantic", "hybrid")),
        ["grep", "gorse"],
        ["symbol", "whinchat"],
        ["locate"],
        ["export", "-", "--format", "jsonl"],
        ["documents", "list"],
    ]
    for command in lists:
        assert "whinchat.py" in shell.run(*command, "--collection", "chats", stdin="whinchat is wrong").stdout, command
    app = App(load_config(file=None, data_dir=shell.data_dir, environ={}))
    collections = Collections(app)
    with write_lock(shell.data_dir / "team/collections/chats/write.lock", wait=False):
        assert not DocumentOperations(collections).delete("chats", hit["doc_id"], seconds=0)
        for command in lists:
            words = (*command, "--collection", "chats")
            assert "whinchat.py" not in shell.run(*words, expect=None, stdin="whinchat is wrong").stdout, command
        for command in (["grep", "whinchat"], ["get", hit["path"]], ["outline", hit["path"]]):
            shell.run(*command, "--collection", "chats", expect=1)
    collections.close()
    app.close()


def test_collections_are_searched_together_and_apart(shell: Shell) -> None:
    shell.write("larch.md", "The larch of the ridge stands alone.\n")
    shell.run("index", shell.docs)
    shell.run("add", "-", "--create", "--collection", "trees", "--name", "fir.md", stdin="The fir of the ridge.\n")
    apart = shell.json("search", "ridge")["hits"]
    assert [hit["path"].rsplit("/", 1)[1] for hit in apart] == ["larch.md"]
    assert "collection" not in apart[0]
    together = shell.json("search", "ridge", "--collection", "trees", "--collection", "default")["hits"]
    assert {(hit["collection"], hit["path"].rsplit("/", 1)[1]) for hit in together} == {
        ("trees", "fir.md"),
        ("default", "larch.md"),
    }
    first = shell.json("search", "ridge", "--collection", "trees", "--collection", "default", "--limit", "1")
    words = ("search", "ridge", "--collection", "trees", "--collection", "default", "--limit", "1")
    second = shell.json(*words, "--cursor", first["next_cursor"])
    assert [hit["path"] for hit in (*first["hits"], *second["hits"])] == [hit["path"] for hit in together]
    shell.run("search", "ridge", "--limit", "1", "--cursor", first["next_cursor"], expect=2)
    for command in (["status"], ["index"], ["doctor"]):
        shell.run(*command, "--collection", "trees")
        shell.run(*command, "--collection", "unknown", expect=1)
    assert "cannot" not in shell.run("forget", shell.docs).stderr
    assert shell.json("search", "ridge", "--collection", "trees")["hits"]


def test_a_collection_tracks_directories_too(shell: Shell) -> None:
    shell.write("larch.md", "The larch of the ridge stands alone.\n")
    shell.run("collection", "create", "trees")
    shell.run("index", shell.docs, "--collection", "trees")
    shell.run("search", "larch", expect=1)
    (hit,) = shell.json("search", "larch", "--collection", "trees")["hits"]
    assert hit["path"] == str(shell.docs / "larch.md")
    assert "larch" in shell.run("get", hit["path"], "--collection", "trees").stdout
    shell.run("index", shell.data_dir / "team", "--collection", "trees", expect=2)
    shell.run("index", shell.data_dir / "team", expect=2)


def test_what_is_refused_says_why_and_the_rest_is_taken(shell: Shell) -> None:
    good = shell.write("good.md", "The grey heron waits.\n")
    empty, secret = shell.write("empty.md", " \n"), shell.write("secret.md", f"Log in with {SECRET} at once.\n")
    logins = shell.write(".docker/config.json", '{"auths": "none"}\n')
    answer = shell.json("add", good, empty, secret, logins, "nowhere.md", "--create", "--collection", "birds", expect=1)
    assert [one["document"]["filename"] for one in answer["documents"]] == ["good.md"]
    refused = [one["source"].rsplit("/", 1)[-1] for one in answer["refused"]]
    assert refused == ["empty.md", "secret.md", "config.json", "nowhere.md"]
    assert SECRET not in json.dumps(answer)
    assert "directory" in shell.run("add", shell.docs, "--collection", "birds", expect=2).stderr
    assert "--meta" in shell.run("add", good, "--meta", "nothing", expect=2).stderr
    assert "one document" in shell.run("add", good, empty, "--title", "Both", expect=2).stderr


class _Page(BaseHTTPRequestHandler):
    n_sent = 0

    def do_GET(self) -> None:
        if self.headers.get("If-None-Match") == '"v1"':
            self.send_response(304)
            self.end_headers()
            return
        type(self).n_sent += 1
        body = b"<html><body><p>The grey heron waits.</p></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"v1"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/herons"
    server.shutdown()
    server.server_close()


def test_an_address_is_taken_and_asked_again(shell: Shell, site: str) -> None:
    assert "private network" in shell.run("add", site, expect=2).stderr
    (sent,) = shell.json("add", site, "--allow-private")["documents"]
    document = sent["document"]
    assert (document["source"], document["url"], document["media_type"]) == ("url", site, "text/html")
    (again,) = shell.json("documents", "refresh", document["doc_id"], "--allow-private")["documents"]
    assert (again["effect"], _Page.n_sent) == ("unchanged", 1)
    (hit,) = shell.json("search", "heron")["hits"]
    assert hit["url"] == site


def test_scopes_name_directories(shell: Shell) -> None:
    shell.write("notes/budget.md", "The budget of the year.\n")
    shell.write("letters/budget.md", "A letter on the budget.\n")
    shell.write("other/budget.md", "Another budget.\n")
    shell.run("index", shell.docs)
    shell.run("scope", "work", shell.docs / "notes", shell.docs / "letters")
    assert shell.json("scope")["scopes"] == [
        {"name": "work", "paths": [str(shell.docs / "letters"), str(shell.docs / "notes")]}
    ]
    found = {hit["path"].split("/")[-2] for hit in shell.json("search", "budget", "--scope", "work", "--all")["hits"]}
    assert found == {"notes", "letters"}
    narrowed = shell.json("search", "budget", str(shell.docs / "notes"), "--scope", "work")["hits"]
    assert [hit["path"].split("/")[-2] for hit in narrowed] == ["notes"]
    shell.run("search", "budget", str(shell.docs / "other"), "--scope", "work", expect=2)
    shell.run("search", "budget", "--scope", "unknown", expect=1)
    shell.run("scope", "bad", shell.docs.parent, expect=0)
    shell.run("scope", "work", "--remove")
    shell.run("search", "budget", "--scope", "work", expect=1)


def test_a_backup_is_made_and_brought_back(shell: Shell, tmp_path: Path) -> None:
    shell.write("larch.md", "The larch of the ridge.\n")
    shell.run("index", shell.docs)
    shell.run("add", "-", "--create", "--collection", "birds", stdin="The grey heron waits.\n")
    made = shell.json("backup", tmp_path / "backup")
    assert (made["collections"], made["documents"], made["vectors"]) == (2, 1, True)
    shell.run("backup", tmp_path / "backup", expect=2)
    shell.run("restore", tmp_path / "backup", expect=2)
    shell.run("restore", tmp_path / "backup", "--replace", expect=2)
    shell.run("collection", "delete", "birds", "--yes")
    assert shell.json("restore", tmp_path / "backup", "--replace", "--yes")["documents"] == 1
    for collection, query in (("birds", "heron"), ("default", "larch")):
        assert len(shell.json("search", query, "--collection", collection)["hits"]) == 1
        assert shell.json("doctor", "--collection", collection)["healthy"]
    elsewhere = tmp_path / "elsewhere"
    shell.run("restore", tmp_path / "backup", "--data-dir", elsewhere)
    assert len(shell.json("search", "heron", "--collection", "birds", "--data-dir", elsewhere)["hits"]) == 1
    assert shell.json("doctor", "--collection", "birds", "--data-dir", elsewhere)["healthy"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_nobody_else_can_read_what_is_kept_whatever_the_umask(shell: Shell) -> None:
    path = shell.write("heron.md", "The grey heron waits.\n")

    def run(*words: str | Path) -> None:
        done = subprocess.run([DIRINDEX, *words], umask=0, env=shell.environ, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr

    run("index", shell.docs)
    run("add", path, "--create", "--collection", "birds")
    for collection in ("birds", "default"):
        run("search", "heron wait", "--collection", collection)
        run("grep", "heron", "--collection", collection)
    run("key", "new", "reader")
    run("backup", shell.data_dir.with_name("backup"))
    for kept in (shell.data_dir, *shell.data_dir.rglob("*"), *shell.data_dir.with_name("backup").rglob("*")):
        assert kept.lstat().st_mode & 0o777 == (0o700 if kept.is_dir() else 0o600), kept
