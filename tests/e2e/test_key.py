"""`dirindex key`: keys are made, shown once, listed and revoked."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, run_command

if TYPE_CHECKING:
    from pathlib import Path


def _key(data_dir: Path, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [DIRINDEX, "key", *words, "--data-dir", data_dir]
    done = run_command(command, check=False)
    assert done.returncode == expect, done.stderr
    return done


def test_a_key_is_shown_alone_so_that_scripts_can_take_it(tmp_path: Path) -> None:
    done = _key(tmp_path, "new", "ann")
    assert done.stdout.startswith("dirindex_")
    assert done.stdout.count("\n") == 1
    assert "not kept" in done.stderr


def test_keys_are_listed_with_what_they_allow_and_never_shown_again(tmp_path: Path) -> None:
    secret = _key(tmp_path, "new", "ann").stdout.strip()
    _key(tmp_path, "new", "a-longer-name", "--right", "write", "--collection", "b", "--collection", "a")
    listed = _key(tmp_path, "list").stdout
    assert listed.splitlines() == [
        "a-longer-name  write    a, b  for ever, never used",
        "ann            read     all collections  for ever, never used",
    ]
    keys = json.loads(_key(tmp_path, "list", "--json").stdout)["keys"]
    assert [(key["name"], key["right"], key["collections"], key["expired"]) for key in keys] == [
        ("a-longer-name", "write", ["a", "b"], False),
        ("ann", "read", None, False),
    ]
    assert secret not in listed + json.dumps(keys)


def test_json_has_the_key_when_it_is_made_alone(tmp_path: Path) -> None:
    made = json.loads(_key(tmp_path, "new", "ann", "--expires", "90d", "--json").stdout)
    assert made["key"].startswith("dirindex_")
    assert made["expires_at"] > made["created_at"]
    assert "key" not in json.loads(_key(tmp_path, "revoke", "ann", "--json").stdout)
    assert json.loads(_key(tmp_path, "list", "--json").stdout) == {"keys": []}


@pytest.mark.parametrize("text", ["90", "d", "0d", "-1d", "1 d", "90D", "9999999y", "tomorrow"])
def test_an_end_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    assert "--expires" in _key(tmp_path, "new", "ann", f"--expires={text}", expect=2).stderr


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    _key(tmp_path, "new", "ann")
    assert "a key 'ann' already exists" in _key(tmp_path, "new", "ann", expect=2).stderr
    assert "no key 'bob'" in _key(tmp_path, "revoke", "bob", expect=2).stderr
    assert "not a valid name for a key" in _key(tmp_path, "new", "a b", expect=2).stderr


def test_listing_no_keys_makes_nothing(tmp_path: Path) -> None:
    assert "no keys" in _key(tmp_path / "data", "list").stderr
    assert not (tmp_path / "data").exists()


def test_other_commands_and_serving_on_standard_input_load_nothing_of_the_api() -> None:
    program = (
        "import sys\n"
        "from directory_indexer.cli import command_line\n"
        "from directory_indexer import server\n"
        "from directory_indexer.server import stdio; from directory_indexer.server.mcp import protocol, tools\n"
        "print(*(name for name in sys.modules if '.server.rest' in name or '.storage.registry' in name"
        " or name.endswith(('.middleware.guard', '.middleware.request_context', '.middleware.monitoring'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


def test_a_key_in_a_text_is_masked_when_that_is_indexed(tmp_path: Path) -> None:
    secret = _key(tmp_path / "data", "new", "ann").stdout.strip()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "note.md").write_text(
        "# The cellar\n\nThe potatoes are kept in the cellar, beside the carrots, and counted by a machine.\n\n"
        f"Ann asks with {secret} from her cellar, and nobody else does.\n"
    )
    for words in (("index", tmp_path / "docs", "--quiet"), ("search", "cellar", "--mode", "keyword")):
        command: list[str | Path] = [DIRINDEX, *words, "--data-dir", tmp_path / "data"]
        done = run_command(command)
    assert f"Ann asks with {len(secret) * '*'} from" in done.stdout
    assert secret not in done.stdout
