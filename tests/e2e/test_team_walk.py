"""Somebody sets up an index for a team, from the first key to a restored backup, with the commands of the docs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shells import Shell
from web_servers import WebServer
from website import Website

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PAGE = b"<html><body><nav>Home</nav><main><p>The grey heron waits in the shallows.</p></main></body></html>"
_FILE = b"# Kestrels\r\n\r\nThe kestrel hovers.\r\n\xc3\xa4\xff"


@pytest.fixture
def website() -> Iterator[Website]:
    website = Website({"/herons.html": (_PAGE, {"Content-Type": "text/html", "ETag": '"1"'})})
    yield website
    website.stop()


@pytest.mark.slow
def test_a_walk_from_the_first_key_to_a_restored_backup(tmp_path: Path, website: Website) -> None:
    shell = Shell(tmp_path, tmp_path)
    admin = shell.run("key", "new", "boss", "--right", "admin").stdout.strip()
    assert "boss" in shell.run("key", "list").stdout
    environ = {
        "DIRINDEX_SERVING__FETCH_URLS": "true",
        "DIRINDEX_FETCHING__ALLOWED": f"127.0.0.1:{website.port}",
    }
    with WebServer(shell.data_dir, **environ) as server:
        assert server.ask("PUT", "/api/v1/collections/birds", {"description": "of birds"}, key=admin).status == 201
        writer = shell.run("key", "new", "ann", "--right", "write", "--collection", "birds").stdout.strip()
        kestrel = _sent(server, writer, website.url("/herons.html"))
        for query, name in (("singing wren", "text.md"), ("hovers", "kestrel.md"), ("waits", "herons.html")):
            found = server.search(query, key=writer, collection="birds").json
            assert [hit["filename"] for hit in found["hits"]] == [name]
            assert "has not ended" not in str(found["notes"])
        kept = shell.json("documents", "list", "--collection", "birds")["documents"]
        assert {one["state"] for one in kept} == {"complete"}
        assert shell.json("backup", tmp_path / "monday")["documents"] == len(kept) == 3
        assert server.ask("DELETE", "/api/v1/collections/birds", key=admin).status == 204
        assert server.search("wren", key=admin, collection="birds").status == 404
    _restore(shell, tmp_path / "monday", tmp_path / "restored", kestrel)


def _sent(server: WebServer, key: str, url: str) -> str:
    """Send a text, a file and an address, and give the id of the file."""
    common = {"collection": "birds", "wait": "complete"}
    text = server.ask("POST", "/api/v1/ingest", {**common, "text": "The wren sings."}, key=key)
    file = server.ask("PUT", "/api/v1/files/kestrel.md?collection=birds&wait=complete", _FILE, key=key)
    page = server.ask("POST", "/api/v1/ingest_url", {**common, "url": url}, key=key)
    assert [one.status for one in (text, file, page)] == [201, 201, 201]
    return str(file.json["doc_id"])


def _restore(shell: Shell, backup: Path, restored: Path, doc_id: str) -> None:
    """Bring a backup back elsewhere, and look whether all of it is there."""
    at = ("--collection", "birds", "--data-dir", restored)
    assert shell.json("restore", backup, "--accept-settings", "--data-dir", restored)["documents"] == 3
    copy = shell.docs / "copy.md"
    shell.run("documents", "original", doc_id, copy, *at)
    assert copy.read_bytes() == _FILE
    assert len(shell.json("search", "singing wren", *at)["hits"]) == 1
    assert "dirindex index --collection birds" in shell.run("doctor", *at).stdout
    shell.run("index", *at)
    checked = shell.json("doctor", *at)
    assert checked["healthy"]
    assert {one["verdict"] for one in checked["findings"] if one["check"] != "OCR"} == {"ok"}
