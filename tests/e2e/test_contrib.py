"""What `contrib/` gives other programs, run as they run it, as far as they are there."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

CONTRIB = Path(__file__).resolve().parents[2] / "contrib"
QUESTION = "when are keys rotated"


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the environment of a program that finds `dirindex` on its path, and an index of two files."""
    place = tmp_path_factory.mktemp("contrib")
    (place / "notes").mkdir()
    (place / "notes" / "keys.md").write_text("# Keys\n\nThe signing keys are rotated every March.\n", encoding="utf-8")
    (place / "notes" / "tea.md").write_text("# Tea\n\nGreen tea is poured at eighty degrees.\n", encoding="utf-8")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "DIRINDEX_DATA_DIR": str(place / "index"), "HOME": str(place)}
    command = [sys.executable, "-m", "directory_indexer", "index", str(place / "notes"), "--quiet"]
    subprocess.run(command, check=True, env=environment)
    return environment


def printed(surroundings: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=surroundings, check=True, capture_output=True, text=True, timeout=60).stdout


def test_alfred_gets_hits_to_open_and_to_copy(surroundings: dict[str, str]) -> None:
    written = printed(surroundings, sys.executable, str(CONTRIB / "alfred" / "dirindex-alfred"), QUESTION)
    first = json.loads(written)["items"][0]
    assert first["arg"].endswith("notes/keys.md")
    assert first["mods"]["cmd"]["arg"].endswith("notes/keys.md:3")


def test_alfred_is_told_that_nothing_was_found(surroundings: dict[str, str]) -> None:
    written = printed(surroundings, sys.executable, str(CONTRIB / "alfred" / "dirindex-alfred"), "")
    assert json.loads(written) == {"items": [{"title": "Nothing found", "valid": False}]}


def test_albert_is_given_hits_when_it_asks(surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    albert = ModuleType("albert")
    for name in ("PluginInstance", "TriggerQueryHandler"):
        setattr(albert, name, type(name, (), {}))
    for name in ("Action", "StandardItem"):
        setattr(albert, name, lambda *given, **named: SimpleNamespace(given=given, **named))
    for name in ("openFile", "setClipboardText"):
        setattr(albert, name, print)
    monkeypatch.setitem(sys.modules, "albert", albert)
    spec = importlib.util.spec_from_file_location("plugin", CONTRIB / "albert" / "__init__.py")
    assert spec
    assert spec.loader
    plugin: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    shown: list[Any] = []
    plugin.Plugin().handleTriggerQuery(SimpleNamespace(string=f" {QUESTION}", isValid=True, add=shown.extend))
    assert "notes/keys.md:3" in shown[0].subtext


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_raycast_shows_hits_as_markdown(surroundings: dict[str, str]) -> None:
    assert "keys.md" in printed(surroundings, "/bin/sh", str(CONTRIB / "raycast" / "dirindex.sh"), QUESTION)


@pytest.mark.skipif(not shutil.which("vim"), reason="Vim is not installed")
def test_vim_has_the_hits_in_its_quickfix_list(surroundings: dict[str, str], tmp_path: Path) -> None:
    script = str(CONTRIB / "vim" / "dirindex.vim")
    asked = (f"Dirindex {QUESTION}", f"redir! > {tmp_path}/list", "silent clist", "redir END", "qa!")
    commands = [word for one in asked for word in ("-c", one)]
    printed(surroundings, "vim", "-es", "-u", "NONE", "-S", script, *commands)
    assert "keys.md:3: The signing keys" in (tmp_path / "list").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("emacs"), reason="Emacs is not installed")
def test_emacs_lists_the_lines_that_match(surroundings: dict[str, str]) -> None:
    wait = '(while (get-buffer-process "*dirindex*") (accept-process-output nil 0.1))'
    go = f'(progn (dirindex-grep "rotated") {wait} (set-buffer "*dirindex*") (princ (buffer-string)))'
    written = printed(
        surroundings, "emacs", "--batch", "-Q", "-L", str(CONTRIB / "emacs"), "-l", "dirindex", "--eval", go
    )
    assert "keys.md:3:The signing keys" in written


@pytest.mark.skipif(not shutil.which("desktop-file-validate"), reason="desktop-file-utils are not installed")
def test_the_entry_for_launchers_is_valid(surroundings: dict[str, str]) -> None:
    assert printed(surroundings, "desktop-file-validate", str(CONTRIB / "desktop" / "dirindex.desktop")) == ""
