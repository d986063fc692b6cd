"""Chromium, where it is installed, and pages of `dirindex ui` in it that may neither complain nor ask elsewhere."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from page_servers import PageServer
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_FORGET = """(kept) => {
  localStorage.clear();
  Object.entries(kept).forEach(([name, value]) => localStorage.setItem(name, value));
}"""
_PATIENCE_MS = 30_000  # for what a page does, on a machine that runs other tests beside
expect.set_options(timeout=_PATIENCE_MS)
_windows: dict[Path, Page] = {}
"""The windows of browsers that were admitted, by the files of what they have."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS, timeout=90_000)
        yield browser
        browser.close()


def admit(server: PageServer, browser: Browser, kept: Path) -> Path:
    """Keep what a browser has after it came by the address that the command gave out, and its window."""
    page = browser.new_page()
    page.context.set_default_timeout(_PATIENCE_MS)
    page.goto(server.address)
    page.locator("main").wait_for()
    assert "code" not in page.url
    page.context.storage_state(path=kept)
    _leave(page, server)
    _windows[kept] = page
    return kept


def _leave(page: Page, server: PageServer) -> None:
    """Show nothing of the page; an address of the same server leaves Chromium the process that has drawn it."""
    page.goto(f"{server.root}/livez")


def _kept(admitted: Path) -> dict[str, str]:
    """Return what the page keeps in the browser of somebody who was just admitted."""
    origins = json.loads(admitted.read_text())["origins"]
    return {item["name"]: item["value"] for origin in origins for item in origin["localStorage"]}


@contextmanager
def watched_page(server: PageServer, admitted: Path) -> Iterator[Page]:
    """Lend the page of somebody who was admitted, and fail if it complained or asked for anything elsewhere.

    A new window would take half of the time of a test, and so would compiling what the page consists of; so all tests
    have the same window, and what one of them has changed in it is undone before the next.
    """
    page = _windows[admitted]
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    said: list[str] = []
    asked: list[str] = []
    with (
        _heard(page, "console", lambda message: said.append(f"{message.text} {message.location['url']}")),
        _heard(page, "pageerror", lambda error: said.append(str(error))),
        _heard(page, "request", lambda request: asked.append(request.url)),
    ):
        yield page
        page.unroute_all()
        page.evaluate(_FORGET, _kept(admitted))
    _leave(page, server)
    page.mouse.move(0, 0)
    # Chromium asks for it where none is named.
    assert [words for words in said if not words.endswith("/favicon.ico")] == []
    assert [url for url in asked if not url.startswith((server.root, f"blob:{server.root}"))] == []


@contextmanager
def _heard(page: Page, event: Any, listen: Callable[[Any], None]) -> Iterator[None]:
    page.on(event, listen)
    yield
    page.remove_listener(event, listen)
