"""`dirindex serve` with nothing but a cluster index: over MCP and over HTTP, beside the machine that indexes."""

from __future__ import annotations

import json
import platform
import re
from typing import TYPE_CHECKING

import pytest
from qdrant_servers import Server
from serving import RawClient, text_of
from shells import Shell
from web_servers import WebServer

from directory_indexer.server.lifecycle import CLUSTER_INSTRUCTIONS
from directory_indexer.server.mcp.executor import TOOLS
from directory_indexer.server.mcp.protocol import CLUSTER_TOOLSET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLUSTER = "DIRINDEX_STORAGE__QDRANT__CLUSTER_INDEX"
ELSEWHERE = [entry.name for entry in TOOLS if entry.name not in CLUSTER_TOOLSET and entry.name != "index"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server("--storage", tmp_path / "server") as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, home_directory: Path, server: Server) -> Shell:
    shell = Shell(tmp_path, home_directory)
    shell.environ |= {"DIRINDEX_STORAGE__QDRANT__ENDPOINT": server.url, CLUSTER: "notes"}
    shell.write("ops/keys.md", "# Operations\n\n## Key rotation\n\nRotate the signing keys every ninety days.\n")
    shell.write("kitchen/soup.md", "# Soup\n\nBoil the carrots with ginger and serve it hot.\n")
    shell.run("index", shell.docs)
    return shell


@pytest.fixture
def environ(shell: Shell, tmp_path: Path) -> dict[str, str]:
    """Give what a server is told that has no index."""
    place = tmp_path / "elsewhere"
    return {**shell.environ, "DIRINDEX_DATA_DIR": str(place), "DIRINDEX_SERVING__FROM_CLUSTER": "true"}


def test_assistants_search_and_read_and_are_told_which_machine_does_the_rest(
    shell: Shell, environ: dict[str, str]
) -> None:
    with RawClient(environ=environ) as client:
        early, late = client.shake_hands(), client.shake_hands()
        assert early["result"] == late["result"]
        assert early["result"]["instructions"] == CLUSTER_INSTRUCTIONS
        tools = client.request("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["search", "get_content", "server_info"]
        said = json.dumps([CLUSTER_INSTRUCTIONS, tools])
        assert not [one for one in (*ELSEWHERE, "collection", "collections") if re.search(rf"\b{one}\b", said)]
        found = client.call("search", query="how often do we change our credentials", mode="semantic")
        assert found["structuredContent"]["hits"][0]["path"] == str(shell.docs / "ops/keys.md")
        (hit,) = client.call("search", query='"carrots with ginger" path:kitchen', mode="keyword")["structuredContent"][
            "hits"
        ]
        assert hit["path"] == str(shell.docs / "kitchen/soup.md")
        assert "on_disk" not in hit
        text = client.call("get_content", path=str(shell.docs / "ops/keys.md"), start_line=5)
        assert "ninety days" in text_of(text)
        names = client.call("get_content", path=str(shell.docs))
        assert "kitchen/  (1 file)" in text_of(names)
        info = client.call("server_info")["structuredContent"]
        assert [one["path"] for one in info["directories"]] == [str(shell.docs)]
        assert (info["index"]["files"], info["index"]["embedded"]) == (2, 2)
        refused = client.call("grep", pattern="ginger")
        assert refused["isError"]
        assert f"ask the machine that indexes: {platform.node()}" in text_of(refused)
        missing = client.call("get_content", path=str(shell.docs / "none.md"))
        assert text_of(missing).endswith("or server_info to see which directories are indexed.")
    assert not (shell.docs.parent / "elsewhere").exists()


@pytest.mark.slow
def test_programs_search_and_read_over_http_while_the_index_changes(
    shell: Shell, environ: dict[str, str], server: Server, tmp_path: Path
) -> None:
    with WebServer(tmp_path / "elsewhere", "--no-token", **environ) as web:
        assert web.ask("GET", "/readyz").status in {200, 503}
        (hit,) = web.search("ninety days signing").json["hits"]
        text = web.ask("GET", f"/api/v1/documents/{hit['doc_id']}?lines=5-5").json["text"]
        assert "ninety days" in text
        listed = web.ask("GET", "/api/v1/documents").json["documents"]
        assert [one["path"] for one in listed] == [str(shell.docs / "kitchen/soup.md"), str(shell.docs / "ops/keys.md")]
        assert web.search("x", facets=True, types=["markdown"]).json["files"] == 2
        shell.write("ops/keys.md", "# Operations\n\nRotate the signing keys every thirty days.\n")
        shell.run("index")
        assert "thirty" in web.search("signing keys days").json["hits"][0]["excerpt"]
        refused = web.ask("POST", "/api/v1/grep", {"pattern": "ginger"})
        assert (refused.status, refused.json["error"]) == (501, "not_here")
        assert platform.node() in refused.json["detail"]
        assert web.ask("POST", "/api/v1/grop", {}).status == 404
        server.stop()
        assert web.search("carrots").status == 503
        server.start()
        assert web.search("carrots").status == 200
    assert {one["verdict"] for one in shell.json("doctor")["findings"]} == {"ok"}


def test_what_is_missing_in_the_configuration_is_said(shell: Shell) -> None:
    del shell.environ[CLUSTER]
    shell.environ["DIRINDEX_SERVING__FROM_CLUSTER"] = "true"
    said = shell.run("serve", expect=2).stderr
    assert "serving.from_cluster: needs the name in storage.qdrant.cluster_index" in said
    shell.environ[CLUSTER] = "notes"
    del shell.environ["DIRINDEX_STORAGE__QDRANT__ENDPOINT"]
    assert (
        "storage.qdrant.cluster_index: needs a server in storage.qdrant.endpoint" in shell.run("serve", expect=2).stderr
    )
