"""The command line with `--json` and the tools of a server say the same of the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from serving import RawClient, text_of
from shells import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOTE = """\
---
title: Rotation of keys
author: Ann Baker
date: 2024-05-01
tags: [security]
---
# Keys

Every signing key is rotated in spring. Nobody may keep an old one.

## Who does it

{filler}

The operator on duty rotates the signing keys, and says so in the log.
"""
_MAIL = """\
From: Bob Miller <bob@example.org>
To: ann@example.org
Subject: Carrots
Date: Mon, 5 Jan 2026 10:00:00 +0000

The carrots are in the cellar, beside the potatoes.
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    place = tmp_path_factory.mktemp("wire")
    shell = Shell(place, place)
    filler = "\n\n".join(f"Paragraph {n} speaks of something else, such as the weather." for n in range(12))
    name = "caf\udce9.md" if os.name == "posix" else "cafe.md"
    shell.write(name, _NOTE.format(filler=filler))
    shell.write("mail.eml", _MAIL)
    shell.write("soup.txt", "Boil carrots and ginger.\n")
    shell.run("index", shell.docs)
    return shell


@pytest.fixture(scope="module")
def client(shell: Shell) -> Iterator[RawClient]:
    with RawClient("--data-dir", shell.data_dir, environ=shell.environ) as client:
        client.shake_hands()
        yield client


def structure_of(client: RawClient, tool: str, **arguments: Any) -> dict[str, Any]:
    result = client.call(tool, **arguments)
    assert "structuredContent" in result, text_of(result)
    answer = result["structuredContent"]
    assert isinstance(answer, dict)
    return answer


def assert_same(shown: object, whole: object) -> None:
    """Hold each thing that an assistant is told against what a program is."""
    if isinstance(shown, dict):
        assert isinstance(whole, dict)
        for name, value in shown.items():
            assert_same(value, whole[name])
    elif isinstance(shown, list):
        assert isinstance(whole, list)
        assert len(shown) == len(whole)
        for one, other in zip(shown, whole, strict=True):
            assert_same(one, other)
    else:
        assert shown == whole


def _without_excerpts(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Leave out what is longer for an assistant."""
    return [{name: value for name, value in hit.items() if not name.startswith("excerpt")} for hit in answer["hits"]]


def test_hits_are_the_same_in_json_and_over_mcp(shell: Shell, client: RawClient) -> None:
    words = "who rotates the signing keys on duty"
    over_mcp = structure_of(client, "search", query=words, mode="keyword", max_tokens=5000)
    in_json = shell.json("search", words, "--mode", "keyword", "--limit", "10")
    assert over_mcp["hits"]
    assert_same(over_mcp | {"hits": _without_excerpts(over_mcp)}, in_json)
    assert all(len(hit["excerpt"]) <= 600 for hit in in_json["hits"])
    assert any(600 < len(hit["excerpt"]) <= 800 for hit in over_mcp["hits"])
    hit = next(hit for hit in over_mcp["hits"] if hit["excerpt_start_line"] != hit["start_line"])
    assert hit["start_line"] < hit["excerpt_start_line"]
    assert {"title", "metadata", "score", "path"} <= set(hit)


def test_a_page_that_is_cut_off_says_so_in_the_same_way(shell: Shell, client: RawClient) -> None:
    over_mcp = structure_of(client, "search", query="carrots", mode="keyword", limit=1)
    in_json = shell.json("search", "carrots", "--mode", "keyword", "--limit", "1")
    assert over_mcp["truncated"] is in_json["truncated"] is True
    assert over_mcp["next_cursor"]
    second = shell.json("search", "carrots", "--mode", "keyword", "--limit", "1", "--cursor", in_json["next_cursor"])
    assert [hit["path"] for hit in second["hits"]] != [hit["path"] for hit in in_json["hits"]]


def test_what_was_corrected_and_what_was_left_out_is_in_notes(shell: Shell, client: RawClient) -> None:
    words = "who rotates the sigming keys on duty"
    answer = structure_of(client, "search", query=words, mode="keyword")
    whole = structure_of(client, "search", query=words, mode="keyword", all=True, limit=50)
    in_json = shell.json("search", words, "--mode", "keyword", "--all", "--limit", "50")
    assert answer["notes"][0] == 'searched for signing instead of sigming; write "sigming" to search for that'
    assert answer["notes"][0] in text_of(client.call("search", query=words, mode="keyword"))
    assert "much weaker" in answer["notes"][-1]
    assert len(answer["hits"]) < len(whole["hits"]) == len(in_json["hits"])


def test_what_could_not_be_used_is_in_notes(tmp_path: Path) -> None:
    shell = Shell(tmp_path, tmp_path)
    shell.write("soup.txt", "Boil carrots and ginger.\n")
    config = tmp_path / "config.json"
    config.write_text('{"embedding": {"provider": "ollama", "endpoint": "http://127.0.0.1:9"}}', encoding="utf-8")
    shell.run("index", shell.docs, "--config", config, expect=3)
    (note, *_) = shell.json("search", "carrots", "--config", config)["notes"]
    assert "keywords alone" in note
    with RawClient("--data-dir", shell.data_dir, "--config", config, environ=shell.environ) as client:
        client.shake_hands()
        assert any("keywords alone" in note for note in structure_of(client, "search", query="carrots")["notes"])


def test_texts_are_the_same_in_json_and_over_mcp(shell: Shell, client: RawClient) -> None:
    path = shell.json("search", "rotates the signing keys", "--limit", "1")["hits"][0]["path"]
    in_json = shell.json("get", path)
    assert_same(structure_of(client, "get_content", path=path), in_json)
    assert in_json["metadata"] == {"author": ["Ann Baker"], "created": ["2024-05-01"], "tag": ["security"]}
    assert in_json["title"] == "Rotation of keys"
    assert "author Ann Baker" in shell.run("get", path).stderr
    assert "author: Ann Baker" in text_of(client.call("get_content", path=path))


@pytest.fixture
def stew(shell: Shell) -> Iterator[Path]:
    """A file similar to two others."""
    copies = [shell.write(f"stew{n}.txt", f"Boil carrots and ginger in {n} pots.\n") for n in range(3)]
    shell.run("index", shell.docs)
    yield copies[0]
    for copy in copies:
        copy.unlink()
    shell.run("index", shell.docs)


def test_similar_files_are_the_same_in_json_and_over_mcp(shell: Shell, client: RawClient, stew: Path) -> None:
    in_json = shell.json("similar", stew)
    over_mcp = structure_of(client, "similar_files", path=str(stew), max_tokens=9000)
    assert_same(over_mcp["hits"], in_json["hits"])
    assert any(hit["metadata"] for hit in in_json["hits"])
    first = shell.json("similar", stew, "--limit", "1")
    second = shell.json("similar", stew, "--limit", "1", "--cursor", first["next_cursor"])
    assert [hit["path"] for hit in (*first["hits"], *second["hits"])] == [hit["path"] for hit in in_json["hits"]][:2]


def test_directories_and_runs_are_the_same_in_json_and_over_mcp(shell: Shell, client: RawClient) -> None:
    in_json = shell.json("status")
    info = structure_of(client, "server_info")
    assert_same(info["directories"], in_json["directories"])
    assert info["directories"][0]["indexed_at"]
    assert (info["run"]["id"], info["run"]["state"]) == (in_json["run"]["id"], "completed")
    assert info["model"]["name"] == in_json["model"]["name"]
    assert shell.json("index")["state"] == structure_of(client, "index", wait_seconds=50)["state"] == "completed"


@pytest.mark.parametrize(
    ("options", "operators", "names"),
    [
        (("--author", "baker"), "author:baker", ["caf"]),
        (("--tag", "#security"), "tag:#security", ["caf"]),
        (("--created", "2024-05"), "created:2024-05", ["caf"]),
        (("--from", "bob"), "from:bob", ["mail.eml"]),
        (("--to", "ann@"), "to:ann@", ["mail.eml"]),
        (("--subject", "carrot"), "subject:carrot", ["mail.eml"]),
        (("--tag", "#security", "--from", "bob"), "tag:#security from:bob", []),
        (("--until", "2025"), "until:2025", ["caf"]),
        (("--since", "2026-01-01", "--until", "2026-01-05"), "since:2026-01-01 until:2026-01-05", ["mail"]),
    ],
)
def test_documents_are_asked_for_by_what_they_say_about_themselves(
    shell: Shell, client: RawClient, options: tuple[str, ...], operators: str, names: list[str]
) -> None:
    found = shell.json("search", "carrots keys", *options, "--limit", "9", expect=0 if names else 1)["hits"]
    paths = {Path(hit["path"]).name for hit in found}
    assert len(paths) == len(names)
    assert all(any(path.startswith(name) for name in names) for path in paths)
    over_mcp = structure_of(client, "search", query=f"carrots keys {operators}", mode="keyword")
    assert {Path(hit["path"]).name for hit in over_mcp["hits"]} == paths


def test_a_language_is_asked_for_in_both_ways(shell: Shell, client: RawClient) -> None:
    assert shell.json("search", "carrots", "--lang", "fi", "--limit", "5", expect=1)["hits"] == []
    assert structure_of(client, "search", query="carrots lang:fi", mode="keyword")["hits"] == []


@pytest.mark.parametrize(
    ("option", "value"),
    [("--since", "7dogs"), ("--until", "soon"), ("--created", "someday"), ("--author", " "), ("--author", "x" * 501)],
)
def test_a_condition_that_cannot_be_meant_is_refused_by_name(shell: Shell, option: str, value: str) -> None:
    refused = shell.run("search", "carrots", option, value, expect=2).stderr
    assert option in refused
    assert len(refused.splitlines()) <= 2


def test_facets_count_the_files_that_the_filters_leave(shell: Shell, client: RawClient) -> None:
    in_json = shell.json("search", "", "--facets")
    assert (in_json["hits"], in_json["files"]) == ([], 3)
    assert in_json["facets"]["types"] == {"email": 1, "markdown": 1, "text": 1}
    assert in_json["facets"]["tags"] == {"security": 1}
    over_mcp = client.call("search", query="x", facets=True)
    assert over_mcp["structuredContent"]["facets"] == in_json["facets"]
    assert "types: email 1, markdown 1, text 1" in text_of(over_mcp)
    narrow = structure_of(client, "search", query="x", facets=True, types=["markdown"])
    assert (narrow["files"], narrow["facets"]["types"]) == (1, {"markdown": 1})
    lines = shell.run("search", "", "--facets", "--author", "baker").stdout.splitlines()
    assert lines[0].split() == ["files", "1"]
    assert "tags         security 1" in lines


def test_documents_with_endless_metadata_leave_room_for_what_was_found(tmp_path: Path) -> None:
    shell = Shell(tmp_path, tmp_path)
    tags = ", ".join(f"{'tag' * 40}{n}" for n in range(300))
    shell.write("loud.md", f"---\nauthor: {'A' * 5000}\ntags: [{tags}]\n---\n\nParsnips are roots.\n")
    shell.run("index", shell.docs)
    assert len(shell.run("search", "parsnips", "--limit", "1", "--json").stdout) < 4000
    with RawClient("--data-dir", shell.data_dir, environ=shell.environ) as client:
        client.shake_hands()
        question = {"query": "parsnips", "mode": "keyword", "limit": 1, "max_tokens": 250}
        (hit,) = structure_of(client, "search", **question)["hits"]
        assert "metadata" not in hit
        text = structure_of(client, "get_content", path="loud.md", max_tokens=400)
        assert "metadata" not in text
        assert text["text"].startswith("---")
        assert structure_of(client, "search", query="parsnips", mode="keyword", facets=True, max_tokens=200)["files"]
