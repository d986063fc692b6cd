"""What holds for every test: no network, no home directory, and a place of its own for data."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pathlib import Path

collect_ignore = ["data"]

# Containers often keep Python from writing bytecode. Then each of the several hundred processes that tests start would
# compile every module that it imports, which is half of the time of a short command.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A busy machine must not fail a test: no example has a deadline. Nor must chance: the examples are the same each time.
# `scripts/nightly` explores others, and more of them.
settings.register_profile("dirindex", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("explore", deadline=None, max_examples=300)
settings.load_profile("dirindex")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def only_this_machine(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in {"127.0.0.1", "::1", "localhost"}:
            _refuse(f"a test connects to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_this_machine)


@pytest.fixture(autouse=True)
def home_directory(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty home directory."""
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("XDG_CONFIG_HOME", "DIRINDEX_CONFIG", "DIRINDEX_DATA_DIR", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    return home


def _refuse(message: str) -> NoReturn:
    raise AssertionError(message)
