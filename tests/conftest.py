"""What holds for every test: no network, no home directory, and a place of its own for data."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import warm_commands
import warm_tests
from commands import fork_worker, start_worker
from hypothesis import settings

from directory_indexer.parsing import worker_pool

if TYPE_CHECKING:
    from pathlib import Path

collect_ignore = ["data"]

# Containers often keep Python from writing bytecode. Then each of the several hundred processes that tests start would
# compile every module that it imports, which is half of the time of a short command.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A busy machine must not fail a test: no example has a deadline. Nor must chance: the examples are the same each time.
# `scripts/nightly` explores others, and more of them.
settings.register_profile("dirindex", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("explore", deadline=None, max_examples=300)
settings.load_profile("dirindex")


def pytest_configure(config: pytest.Config) -> None:
    """Start the process that forks for all workers of pytest, and the one of which these are forks."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        warm_commands.share_forker()
        if warm_commands.is_forker_shared():
            python = warm_tests.share_imports(config.args)
            config.option.tx = [f"popen//python={python}"] * len(config.option.tx)


@pytest.fixture(scope="session", autouse=True)
def forked_workers() -> None:
    """Have files parsed by forks of a process that has imported all, which takes a tenth of starting a worker."""
    if warm_commands.is_forker_shared():
        worker_pool.start_process = fork_worker


@pytest.fixture
def started_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have workers started as the product does, for tests of how they start and end."""
    monkeypatch.setattr(worker_pool, "start_process", start_worker)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def only_this_machine(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in {"127.0.0.1", "::1", "localhost"}:
            _refuse(f"a test connects to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_this_machine)


@pytest.fixture(scope="session")
def homes() -> list[Path]:
    return []


@pytest.fixture(autouse=True)
def home_directory(
    homes: list[Path], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return an empty home directory: the one of the test before, if that has left nothing in it."""
    if not homes or os.listdir(homes[-1]):
        homes.append(tmp_path_factory.mktemp("home"))
    home = homes[-1]
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("XDG_CONFIG_HOME", "DIRINDEX_CONFIG", "DIRINDEX_DATA_DIR", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    return home


def _refuse(message: str) -> NoReturn:
    raise AssertionError(message)
