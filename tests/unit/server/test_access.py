"""Who may speak to a server over HTTP."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.server.middleware.access import (
    MIN_TOKEN_CHARS,
    TOKEN_VARIABLE,
    Access,
    HttpAddress,
    host_names,
    open_listening_socket,
    parse_address,
    read_token,
)

TOKEN = "0123456789abcdef-token"  # noqa: S105 - of a test


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8765", HttpAddress("127.0.0.1", 8765)),
        (":8765", HttpAddress("127.0.0.1", 8765)),
        ("localhost:0", HttpAddress("localhost", 0)),
        ("localhost:65535", HttpAddress("localhost", 65_535)),
        ("[::1]:80", HttpAddress("::1", 80)),
        ("0.0.0.0:80", HttpAddress("0.0.0.0", 80)),  # noqa: S104 - only read
    ],
)
def test_an_address_is_read(text: str, address: HttpAddress) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "8765", "localhost", "::1:80", "127.0.0.1:65536", "127.0.0.1:x", "a b:c"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="invalid address"):
        parse_address(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])  # noqa: S104 - refused
def test_other_machines_are_let_in_with_a_token_only(host: str) -> None:
    with pytest.raises(UsageError, match="no token"):
        Access(HttpAddress(host, 80)).require_safe(has_keys=False)
    Access(HttpAddress(host, 80), token=TOKEN).require_safe(has_keys=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_other_users_of_this_machine_are_let_in_without_a_token_only_on_demand(host: str) -> None:
    with pytest.raises(UsageError, match="every user of this machine"):
        Access(HttpAddress(host, 80)).require_safe(has_keys=False)
    Access(HttpAddress(host, 80), needs_token=False).require_safe(has_keys=False)
    Access(HttpAddress(host, 80), token=TOKEN).require_safe(has_keys=False)


def test_the_network_is_not_let_in_without_a_token_on_any_demand() -> None:
    with pytest.raises(UsageError, match="other machines"):
        Access(HttpAddress("0.0.0.0", 80), needs_token=False).require_safe(has_keys=False)  # noqa: S104 - refused


def test_a_token_and_the_wish_for_none_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="--no-token"):
        Access(HttpAddress("127.0.0.1", 80), token=TOKEN, needs_token=False).require_safe(has_keys=False)


def test_keys_are_as_good_as_a_token() -> None:
    Access(HttpAddress("0.0.0.0", 80)).require_safe(has_keys=True)  # noqa: S104 - refused without
    with pytest.raises(UsageError, match="there are keys, and --no-token"):
        Access(HttpAddress("127.0.0.1", 80), needs_token=False).require_safe(has_keys=True)


def test_an_empty_name_is_none_to_be_called_by() -> None:
    with pytest.raises(UsageError, match="--allow-host"):
        host_names(["nas.local", " "], HttpAddress("127.0.0.1", 80))


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 - only named
def test_a_server_on_every_address_is_called_by_the_name_of_its_machine(host: str) -> None:
    assert host_names(["nas.local"], HttpAddress(host, 80)) == ("nas.local", socket.gethostname())


def test_a_server_on_one_address_has_the_given_names_alone() -> None:
    assert host_names(["nas.local"], HttpAddress("127.0.0.1", 80)) == ("nas.local",)


def test_a_token_of_the_least_length_is_long_enough() -> None:
    shortest = "x" * MIN_TOKEN_CHARS
    assert read_token(None, {TOKEN_VARIABLE: shortest}) == shortest
    with pytest.raises(UsageError, match="at least"):
        read_token(None, {TOKEN_VARIABLE: shortest[1:]})


def test_a_page_of_another_name_is_not_among_the_hosts() -> None:
    access = Access(HttpAddress("127.0.0.1", 0))
    assert set(access.allowed_hosts(8765)) == {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"}
    assert "http://localhost:8765" in access.allowed_origins(8765)
    assert Access(HttpAddress("10.0.0.1", 0), names=("nas.local",)).allowed_hosts(80)[0] == "nas.local:80"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost:80", "[::1]"])
def test_clients_leave_out_the_port_that_http_has_by_default(host: str) -> None:
    access = Access(HttpAddress("127.0.0.1", 80))
    assert access.is_allowed_host(host, 80)
    assert access.is_allowed_origin(f"http://{host}", 80)
    assert not access.is_allowed_host(host, 8765)


def test_names_are_the_same_in_any_case() -> None:
    access = Access(HttpAddress("10.0.0.1", 0), names=("NAS.local",))
    assert access.is_allowed_host("nas.LOCAL:8765", 8765)
    assert access.is_allowed_origin("https://nas.local", 8765)
    assert not access.is_allowed_host("", 8765)
    assert not access.is_allowed_origin("null", 8765)


def test_a_token_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    assert read_token(file, {"DIRINDEX_TOKEN": "other-token-0123456789"}) == TOKEN
    assert read_token(None, {"DIRINDEX_TOKEN": TOKEN}) == TOKEN
    assert read_token(None, {}) == ""


@pytest.mark.skipif(os.name != "posix", reason="there are no such permissions")
def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o644)
    with pytest.raises(UsageError, match="others can read"):
        read_token(file, {})


@pytest.mark.parametrize("token", ["", "short", "é" * 20, "one-line-0123456\nand another"])
def test_a_token_that_is_none_is_refused(tmp_path: Path, token: str) -> None:
    file = tmp_path / "token"
    file.write_text(token, encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(UsageError, match="at least 16"):
        read_token(file, {})


def test_what_is_accepted_sends_without_delay() -> None:
    with (
        open_listening_socket(HttpAddress("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
