"""Who is admitted to the page: by which codes, and by what a browser shows after that."""

from __future__ import annotations

from pathlib import Path

import pytest

from directory_indexer.core.rights import Right
from directory_indexer.server.middleware.authentication import (
    LOGIN_CODE_SECONDS,
    PAGE_HEADER,
    BrowserSessions,
    SessionSecrets,
)
from directory_indexer.server.ui.hosting import LoginLink, can_open_browser, page_url


class World:
    """Browsers, and a clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0
        self.browsers = BrowserSessions(clock=lambda: self.now)

    def admitted(self) -> SessionSecrets:
        found = self.browsers.admit(self.browsers.new_code())
        assert found
        return found

    def knows(self, cookies: str, token: str, *others: tuple[bytes, bytes]) -> bool:
        headers = [(b"cookie", cookies.encode()), (PAGE_HEADER, token.encode()), *others]
        key = self.browsers.key_of(headers)
        return key is not None and key.has_right(Right.READ)


@pytest.fixture
def world() -> World:
    return World()


def test_a_code_is_good_once(world: World) -> None:
    code = world.browsers.new_code()
    assert world.browsers.admit(code)
    assert world.browsers.admit(code) is None


def test_a_code_is_good_for_a_short_time(world: World) -> None:
    code, later = world.browsers.new_code(), world.browsers.new_code()
    world.now = LOGIN_CODE_SECONDS
    assert world.browsers.admit(code)
    world.now = LOGIN_CODE_SECONDS + 1
    assert world.browsers.admit(later) is None


@pytest.mark.parametrize("header", [(b"sec-fetch-site", b"same-origin"), (b"origin", b"http://127.0.0.1:8766")])
def test_only_what_a_browser_vouches_for_may_change_something(world: World, header: tuple[bytes, bytes]) -> None:
    shown = world.admitted()
    headers = [(b"cookie", f"dirindex-1={shown.cookie}".encode()), (PAGE_HEADER, shown.token.encode())]
    bare, vouched_for = world.browsers.key_of(headers), world.browsers.key_of([*headers, header])
    assert bare
    assert bare.right is Right.READ
    assert vouched_for
    assert vouched_for.right is Right.OWNER


@pytest.mark.parametrize("code", ["", "0", "none", "\ud800", "x" * 10_000])
def test_what_is_no_code_admits_nobody(world: World, code: str) -> None:
    world.browsers.new_code()
    assert world.browsers.admit(code) is None


def test_a_browser_shows_its_cookie_and_its_token(world: World) -> None:
    one, other = world.admitted(), world.admitted()
    assert world.knows(f"dirindex-1={one.cookie}", one.token)
    assert world.knows(f"theme=dark; dirindex-2=none; dirindex-1={other.cookie}", other.token)
    assert not world.knows("", one.token)
    assert not world.knows(f"dirindex-1={one.cookie}", "")
    assert not world.knows(f"dirindex-1={one.cookie}", other.token)
    assert not world.knows(f"dirindex-1={one.token}", one.cookie)


@pytest.mark.parametrize("site", [b"same-site", b"cross-site", b"none", b""])
def test_another_page_is_not_answered_whatever_it_shows(world: World, site: bytes) -> None:
    one = world.admitted()
    shown = f"dirindex-1={one.cookie}", one.token
    assert world.knows(*shown, (b"sec-fetch-site", b"same-origin"))
    assert not world.knows(*shown, (b"sec-fetch-site", site))


def test_a_server_is_idle_from_the_last_request_on(world: World) -> None:
    one = world.admitted()
    world.now = 100.0
    assert not world.knows("", one.token)
    assert world.browsers.idle_seconds == 100
    assert world.knows(f"dirindex-1={one.cookie}", one.token)
    assert world.browsers.idle_seconds == 0


def test_the_code_is_in_the_part_of_the_address_that_is_not_sent() -> None:
    assert page_url("127.0.0.1", 8766, code="abc", query="a b&c") == "http://127.0.0.1:8766/ui/?q=a+b%26c#code=abc"


def test_the_address_is_led_to_by_a_file_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_browser(url: str) -> bool:
        path = Path(url.removeprefix("file://"))
        assert path.stat().st_mode & 0o777 == 0o600
        opened.append(path.read_text())
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    with LoginLink(tmp_path) as doorway:
        assert doorway.open_in_browser('http://127.0.0.1:1/ui/?q="<b>&#code=abc')
    assert opened[0].count("http://127.0.0.1:1/ui/?q=&quot;&lt;b&gt;&amp;#code=abc") == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("platform", "environ", "opens"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"BROWSER": "firefox"}, True),
        ("darwin", {}, True),
        ("win32", {}, True),
    ],
)
def test_no_browser_takes_the_terminal_of_the_server(platform: str, environ: dict[str, str], opens: bool) -> None:  # noqa: FBT001
    assert can_open_browser(platform, environ) is opens
