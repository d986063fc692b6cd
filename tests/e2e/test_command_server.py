"""A server of the index answers the commands of other processes just as they would themselves."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, run_command
from serving import RawClient
from terminals import run_on_terminal

from directory_indexer import command_client
from directory_indexer.app import App
from directory_indexer.cli.command_server import CommandServer
from directory_indexer.command_client import (
    ACCEPTED,
    DECLINED,
    FIELD_END,
    LENGTH_BYTES,
    answered,
    at_socket,
    socket_path,
)
from directory_indexer.config import load_config
from directory_indexer.core.cancellation import CancelledError, cancelled_by
from directory_indexer.matching import PatternOptions
from directory_indexer.search.grep import GrepRequest, grep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from subprocess import CompletedProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets")

_POLL_SECONDS = 0.01
_TEXTS = {
    "notes/money.md": "# Budget\n\nThe quarterly budget of the harbour office.\n\n## Ferry\n\nA ferry costs 12 €.\n",
    "notes/ship.md": "# Ships\n\nA ferry and a tug lie in the harbour.\n",
    "code/lock.py": "def acquire(path):\n    '''Acquire the lock of a file.'''\n    return open(path)\n\nferry = 1\n",
    "größe ü.txt": "The ferry is 90 m long.\n",
}
_COMMANDS = (
    ("search", "ferry"),
    ("search", "ferry", "--json"),
    ("search", "harbour budget", "-n", "1"),
    ("search", "ferry", "notes", "--format", "paths"),
    ("search", "ferry", "--format", "grep"),
    ("search", "ferry", "--files", "--explain"),
    ("search", "ferry", "-0"),
    ("search", "ferry", "--full", "--mode", "keyword"),
    ("search", "ferry", "--facets"),
    ("search", "ferry", "--here"),
    ("search", "ferry", "--color", "always"),
    ("search", "ferri", "--quiet"),
    ("search", "nothingofthekind", "--mode", "keyword"),
    ("search", "ferry", "--mode", "nonsense"),
    ("search", "ferry", "/no/such/place"),
    ("search",),
    ("search", "--help"),
    ("search", "ferry", "--cursor", "broken"),
    ("search", "ferry", "--collection", "none"),
    ("grep", "ferry"),
    ("grep", "-n", "ferry", "notes", "code"),
    ("grep", "-ic", "FERRY"),
    ("grep", "-l", "ferry", "--json"),
    ("grep", "-C1", "lock"),
    ("grep", "nothingofthekind"),
    ("grep", "("),
    ("grep",),
    ("grep", "ferry", "--color=always"),
    ("get", "notes/money.md"),
    ("get", "notes/money.md", "notes/ship.md", "-N"),
    ("get", "notes/money.md:3-5", "--json"),
    ("get", "größe ü.txt"),
    ("get", "missing.txt"),
    ("similar", "notes/ship.md"),
    ("similar", "notes/ship.md", "code", "--json"),
    ("outline",),
    ("outline", "notes/money.md", "--json"),
    ("outline", "code", "--max-tokens", "5"),
    ("status", "--json"),
    ("status", "."),
    ("status", "/"),
)


_TRIES = 20


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an index over a small tree, once."""
    place = tmp_path_factory.mktemp("c")
    for name, text in _TEXTS.items():
        file = place / "tree" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    environ = {**os.environ, "HOME": str(place), "DIRINDEX_DATA_DIR": str(place / "d")}
    run_command([DIRINDEX, "index", place / "tree"], env=environ)
    return place


@pytest.fixture(scope="module")
def server(built: Path) -> CommandServer:
    """Start a server of the index in this process."""
    environ = {"HOME": str(built), "DIRINDEX_DATA_DIR": str(built / "d")}
    server = CommandServer(App(load_config(file=None, data_dir=None, environ=environ)))
    server.start()
    _wait_for(built / "d")
    return server


@pytest.fixture
def place(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the indexed tree."""
    monkeypatch.setenv("DIRINDEX_DATA_DIR", str(built / "d"))
    monkeypatch.setenv("HOME", str(built))
    monkeypatch.chdir(built / "tree")
    return built


@pytest.mark.usefixtures("server", "place")
@pytest.mark.parametrize("words", _COMMANDS, ids=" ".join)
def test_a_command_writes_and_returns_the_same_with_and_without_a_server(words: tuple[str, ...]) -> None:
    with_server, without = _run(*words), _run(*words, "--no-server")
    assert (with_server.returncode, with_server.stdout, with_server.stderr) == (
        without.returncode,
        without.stdout,
        without.stderr.replace(" --no-server", ""),
    )


@pytest.mark.usefixtures("server", "place")
def test_a_server_answers_what_ends_as_usual(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directory_indexer.command_client._REPLY_SECONDS", 30.0)
    codes = {words: answered(words) for words in _COMMANDS}
    capfd.readouterr()
    left = {words for words, code in codes.items() if code is None}
    assert left == {
        ("search", "ferry", "--mode", "nonsense"),
        ("search", "ferry", "/no/such/place"),
        ("search",),
        ("search", "--help"),
        ("search", "ferry", "--cursor", "broken"),
        ("search", "ferry", "--collection", "none"),
        ("grep", "("),
        ("grep",),
        ("get", "missing.txt"),
        ("status", "/"),
    }


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("words", "variables"),
    [
        pytest.param(words, variables, marks=pytest.mark.slow if variables and words != ("search", "ferry") else ())
        for words in (("search", "ferry"), ("grep", "ferry"), ("status",), ("search", "ferri harbor"))
        for variables in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "50"})
    ],
)
def test_a_terminal_shows_the_same_with_and_without_a_server(
    words: tuple[str, ...], variables: dict[str, str], place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "dirindex.serve")
    environ = {**os.environ, "TERM": "xterm", **variables}
    run_on_terminal(*words, "--no-server", columns=60, at=place / "tree", environ=environ)  # notes are shown once
    without = run_on_terminal(*words, "--no-server", columns=60, at=place / "tree", environ=environ)
    for _ in range(_TRIES):  # a busy machine may take longer to accept a command than its process waits
        screen = run_on_terminal(*words, columns=60, at=place / "tree", environ=environ)
        assert (screen.code, _without_link_ids(screen.written)) == (without.code, _without_link_ids(without.written))
        if any(record.getMessage().startswith("answered") for record in caplog.records):
            break
    else:
        pytest.fail("the server has answered none")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "variables",
    [
        {"DIRINDEX_SEARCHING__REFRESH_MS": "0"},
        {"DIRINDEX_CONFIG": "{place}/other.json"},
        {"HOME": "{place}/tree"},
        {"TZ": "Asia/Tokyo"},
        {"GIT_CONFIG_GLOBAL": "{place}/gitconfig"},
    ],
    ids=str,
)
def test_another_environment_or_configuration_is_not_answered(variables: dict[str, str], place: Path) -> None:
    (place / "other.json").write_text('{"searching": {"embedding_ms": 1}}')
    fields = _sent(("grep", "ferry"), {name: value.format(place=place) for name, value in variables.items()})
    assert _reply(place, fields) in {ACCEPTED, DECLINED}


@pytest.mark.usefixtures("server")
def test_another_version_is_declined(place: Path) -> None:
    assert _reply(place, [b"0.0.0", *_sent(("grep", "ferry"))[1:]]) == DECLINED


@pytest.mark.usefixtures("server")
def test_only_commands_that_read_are_run(place: Path) -> None:
    assert _reply(place, _sent(("forget", str(place / "tree"), "--yes"))) == DECLINED
    assert _reply(place, _sent(())) == DECLINED


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "content", [b"", b"\0", b"\0\0\0\x01", b"\xff\xff\xff\xff", b"\0\0\0\x02ab", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_request_is_answered_by_nothing(content: bytes, place: Path) -> None:
    with _connected(place) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    assert _reply(place, _sent(("grep", "ferry"))).startswith(ACCEPTED)


@pytest.mark.usefixtures("server", "place")
def test_a_directory_that_is_another_one_in_the_server_is_not_worked_in() -> None:
    fields = _sent(("grep", "ferry"))
    fields[2] = b"1 1"
    assert _reply(Path(os.environ["HOME"]), fields) == ACCEPTED


@pytest.mark.usefixtures("server")
def test_the_socket_is_for_its_user_alone(place: Path) -> None:
    assert stat.S_IMODE(os.stat(socket_path(str(place / "d"))).st_mode) == 0o600


def test_a_server_that_dies_before_it_has_answered_leaves_the_command_to_its_process(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIRINDEX_DATA_DIR", str(tmp_path))
    whole = _reply(place, _sent(("grep", "ferry")))
    with socket.socket(socket.AF_UNIX) as listener:
        at_socket(socket_path(str(tmp_path)), listener.bind)
        listener.listen()
        for n_bytes in range(0, len(whole), 7):
            thread = threading.Thread(target=_answer_partly, args=(listener, whole[:n_bytes]))
            thread.start()
            assert answered(("grep", "ferry")) is None
            thread.join()


def test_a_socket_that_nobody_answers_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIRINDEX_DATA_DIR", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as listener:
        at_socket(socket_path(str(tmp_path)), listener.bind)
        assert answered(("grep", "ferry")) is None
        listener.listen()
        assert answered(("grep", "ferry")) is None


@pytest.mark.slow
def test_commands_are_answered_once_each_while_their_server_is_killed(place: Path) -> None:
    words = ("grep", "-n", "ferry")
    expected = _run(*words, "--no-server")
    with RawClient(environ=dict(os.environ), is_cold=True) as server:
        server.shake_hands()
        _wait_for(place / "d")
        with ThreadPoolExecutor(8) as pool:
            runs = [pool.submit(_run, *words) for _ in range(100)]
            runs[20].result()
            server.process.kill()
            runs += [pool.submit(_run, *words) for _ in range(100)]
            results = {(run.result().returncode, run.result().stdout, run.result().stderr) for run in runs}
    assert results == {(expected.returncode, expected.stdout, expected.stderr)}


def test_lines_are_no_longer_looked_for_when_nobody_waits_for_them(place: Path) -> None:
    app = App(load_config(file=None, data_dir=place / "d", environ=os.environ))
    request = GrepRequest(PatternOptions(("ferry",)))
    with app.docstore.snapshot() as snapshot, cancelled_by(lambda: True), pytest.raises(CancelledError):
        list(grep(snapshot, request).files)


def _run(*words: str) -> CompletedProcess[str]:
    done = run_command([DIRINDEX, *words], check=False)
    done.stdout = _without_link_ids(done.stdout)
    return done


def _without_link_ids(written: str) -> str:
    """Rich draws the ids of links by the time."""
    return re.sub(r"(?<=\x1b]8;id=)\d+", "", written)


def _wait_for(data_dir: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as connection:
            if not at_socket(socket_path(str(data_dir)), connection.connect_ex):
                return
        threading.Event().wait(_POLL_SECONDS)
    raise AssertionError("nothing listens")


def _sent(arguments: Sequence[str], variables: Mapping[str, str] | None = None) -> list[bytes]:
    """Return the fields of a request, with some variables changed."""
    fields = command_client._request(arguments).split(FIELD_END)  # noqa: SLF001 - what the client sends
    names = tuple(f"{name}=".encode() for name in variables or {})
    kept = [field for field in fields if not (names and field.startswith(names))]
    changed = [f"{name}={value}".encode() for name, value in (variables or {}).items()]
    return [*kept[:5], *changed, *kept[5:]]


def _connected(place: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    at_socket(socket_path(str(place / "d")), connection.connect)
    return connection


def _reply(place: Path, fields: Sequence[bytes]) -> bytes:
    request = FIELD_END.join(fields)
    with _connected(place) as connection:
        connection.sendall(len(request).to_bytes(LENGTH_BYTES, "big") + request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def _answer_partly(listener: socket.socket, content: bytes) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(content)
