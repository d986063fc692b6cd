"""Processes that stay answer commands, and one that a command has left behind ends when it is wanted no more."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, run_command, start_command

from directory_indexer import command_client
from directory_indexer.app import App
from directory_indexer.cli.command_server import CommandServer, end_lingering
from directory_indexer.cli.lingering import leave_process
from directory_indexer.command_client import DECLINED, LENGTH_BYTES, answered, at_socket, socket_path
from directory_indexer.config import load_config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from directory_indexer.config import LoadedConfig

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets")

_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.02


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of a small index that was made with words alone."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "ship.md").write_text("# Ships\n\nA ferry.\n")
    monkeypatch.setenv("DIRINDEX_DATA_DIR", str(tmp_path / "d"))
    monkeypatch.setenv("DIRINDEX_INDEXING__EMBEDDING", "off")
    monkeypatch.setenv("DIRINDEX_SERVING__LINGER_MINUTES", "1")
    run_command([DIRINDEX, "index", tmp_path / "tree"])
    return tmp_path / "d"


def test_a_process_is_left_behind_until_its_socket_is_taken_away(
    data_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    process = leave_process(_loaded())
    _wait_until(lambda: answered(("grep", "ferry")) == 0)
    assert "A ferry." in capfd.readouterr().out
    end_lingering(data_dir)
    assert process.wait(_PATIENCE_SECONDS) == 0


@pytest.mark.parametrize(
    "words", [["serve"], ["index", "--watch"], ["ui", "--no-browser", "--port", "0"]], ids=" ".join
)
def test_every_process_that_stays_answers_commands(
    words: list[str], data_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with start_command([DIRINDEX, *words], cwd=data_dir.parent, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL) as process:
        _wait_until(lambda: answered(("grep", "ferry")) == 0)
        process.kill()
    assert "A ferry." in capfd.readouterr().out


def test_doctor_ends_the_process_that_was_left_behind(data_dir: Path) -> None:
    server = _Answering(lambda: True)
    _wait_until(lambda: os.path.exists(socket_path(str(data_dir))))
    run_command([DIRINDEX, "doctor"])
    server.join()


def test_doctor_goes_on_beside_a_socket_that_cannot_be_removed(data_dir: Path) -> None:
    os.mkdir(socket_path(str(data_dir)))
    assert "is intact" in run_command([DIRINDEX, "doctor"]).stdout


def test_a_server_ends_when_it_is_wanted_no_more_and_takes_its_socket_with_it(data_dir: Path) -> None:
    is_wanted = threading.Event()
    is_wanted.set()
    server = _Answering(is_wanted.is_set)
    _wait_until(lambda: answered(("grep", "nothing")) == 1)
    is_wanted.clear()
    server.join()
    assert not os.path.exists(socket_path(str(data_dir)))


def test_only_one_process_answers_at_a_time(data_dir: Path) -> None:
    first = _Answering(lambda: True)
    _wait_until(lambda: answered(("grep", "nothing")) == 1)
    _Answering(lambda: True).join()
    end_lingering(data_dir)
    first.join()


@pytest.mark.usefixtures("data_dir")
def test_a_server_is_outdated_when_another_version_has_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    answering = _Answering(None)
    _wait_until(lambda: answered(("grep", "nothing")) == 1)
    with monkeypatch.context() as other:
        other.setattr(command_client, "__version__", "0.0.0")
        sent = command_client._request(("grep", "nothing"))  # noqa: SLF001 - what another version sends
    with socket.socket(socket.AF_UNIX) as connection:
        at_socket(socket_path(os.environ["DIRINDEX_DATA_DIR"]), connection.connect)
        connection.sendall(len(sent).to_bytes(LENGTH_BYTES, "big") + sent)
        assert connection.recv(1) == DECLINED
    answering.join()


def test_no_process_is_left_behind_unless_it_is_configured(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIRINDEX_SERVING__LINGER_MINUTES", "0")
    run_command([DIRINDEX, "grep", "ferry"])
    assert not _lock_path(data_dir).exists()


class _Answering:
    def __init__(self, is_wanted: Callable[[], bool] | None) -> None:
        server = CommandServer(App(_loaded()))
        is_wanted = is_wanted or (lambda: not server.is_outdated)
        self._thread = threading.Thread(target=server.answer_while, args=(is_wanted,), daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive()


def _loaded() -> LoadedConfig:
    return load_config(file=None, data_dir=None, environ=os.environ)


def _lock_path(data_dir: Path) -> Path:
    return data_dir / f"commands-{os.geteuid()}.lock"


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(_POLL_SECONDS)
