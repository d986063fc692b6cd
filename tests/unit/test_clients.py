"""What clients are told to write into their configuration."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.integrations.assistants.client_table import CLIENTS, client_named
from directory_indexer.integrations.assistants.clients import Client, Launch, launch_of, snippet


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_every_client_is_told_the_command_with_absolute_paths(client: Client) -> None:
    launch = launch_of(["serve", "/a b/docs"])
    text = snippet(client, launch)
    assert os.path.isabs(launch.command)
    assert Path(launch.command).exists()
    assert json.dumps(launch.command) in text
    assert '"/a b/docs"' in text
    assert client.where


def _in_an_environment_for_one_run(directory: Path, monkeypatch: pytest.MonkeyPatch, direct_url: str) -> None:
    described = directory / "archive-v0/site/directory_indexer-9.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.4\nName: directory-indexer\nVersion: 9\n")
    (described / "direct_url.json").write_text(direct_url)
    (directory / "uvx").touch(mode=0o755)
    monkeypatch.syspath_prepend(described.parent)
    monkeypatch.setattr(sys, "prefix", str(described.parent))
    monkeypatch.setenv("PATH", str(directory))


def test_an_environment_for_one_run_is_made_again_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _in_an_environment_for_one_run(tmp_path, monkeypatch, '{"url": "file:///a/b.whl"}')

    launch = launch_of(["serve"])

    assert launch.command == str(tmp_path / "uvx")
    assert launch.arguments == ("--from", "directory-indexer @ file:///a/b.whl", "dirindex", "serve")


def test_no_assistant_starts_what_the_package_index_has_under_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _in_an_environment_for_one_run(tmp_path, monkeypatch, "{}")

    with pytest.raises(UsageError, match="for a single run") as raised:
        launch_of(["serve"])

    assert raised.value.hint == "install dirindex first: uv tool install . in a checkout"


@pytest.mark.parametrize(
    "client", [one for one in CLIENTS.values() if one.name not in {"codex", "goose"}], ids=lambda one: one.name
)
def test_json_configurations_are_json(client: Client) -> None:
    configuration = json.loads(snippet(client, Launch("/bin/dirindex", ("serve",))))
    (servers,) = configuration.values()
    entry = servers["dirindex"]
    command = entry["command"] if client.name == "opencode" else [entry["command"], *entry["args"]]
    assert command == ["/bin/dirindex", "serve"]


def test_the_configuration_of_codex_is_toml() -> None:
    launch = Launch("C:\\Program Files\\dirindex.exe", ("serve", 'a"b'))
    configuration = tomllib.loads(snippet(CLIENTS["codex"], launch))
    assert configuration["mcp_servers"]["dirindex"] == {"command": launch.command, "args": ["serve", 'a"b']}
    with_url = tomllib.loads(snippet(CLIENTS["codex"], Launch("", (), url="http://127.0.0.1:1/mcp", has_token=True)))
    assert with_url["mcp_servers"]["dirindex"]["http_headers"] == {"Authorization": "Bearer TOKEN"}


def test_a_token_is_never_printed() -> None:
    for name in set(CLIENTS) - {"claude-desktop"}:
        text = snippet(CLIENTS[name], Launch("", (), url="http://127.0.0.1:1/mcp", has_token=True))
        assert "Bearer TOKEN" in text
        assert "http://127.0.0.1:1/mcp" in text
    with pytest.raises(UsageError, match="starts servers itself"):
        snippet(CLIENTS["claude-desktop"], Launch("", (), url="http://127.0.0.1:1/mcp"))


def test_an_unknown_client_is_answered_with_the_known_ones() -> None:
    assert client_named("Claude Desktop") is CLIENTS["claude-desktop"]
    with pytest.raises(UsageError) as refusal:
        client_named("emacs")
    assert "vscode" in str(refusal.value.hint)


def test_the_launched_command_is_this_installation() -> None:
    assert Path(launch_of([]).command).parent == Path(sys.executable).parent
