from __future__ import annotations

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.server.bridge.http_client import parse_remote_address


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765/", "https://search.example/dirindex"]
)
def test_this_machine_may_be_asked_unencrypted_and_others_encrypted(url: str) -> None:
    assert parse_remote_address(url).display_url.startswith(url.rstrip("/"))


@pytest.mark.parametrize(
    "url",
    [
        "http://search.example",
        "http://10.0.0.1:8765",
        "http://127.0.0.1.example.org",
        "http://localhost.example",
        "http://0.0.0.0:8765",
        "http://0x7f.1",
        "http://ann:secret@127.0.0.1",
        "https://search.example/?key=1",
        "https://search.example/#a",
        "ftp://127.0.0.1",
        "search.example",
        "",
    ],
)
def test_an_address_that_would_give_the_token_away_or_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        parse_remote_address(url)


def test_another_machine_is_asked_unencrypted_when_told_so() -> None:
    assert not parse_remote_address("http://search.example", allow_http=True).is_local


def test_paths_of_the_api_lie_below_that_of_the_server() -> None:
    assert parse_remote_address("https://a.example/x/").url_of("/api/v1/search").raw_path == b"/x/api/v1/search"
