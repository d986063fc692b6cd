"""Chromium, where it is installed, and pages of `dirindex ui` in it that may neither complain nor ask elsewhere."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from page_servers import PageServer
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_PATIENCE_MS = 30_000  # for what a page does, on a machine that runs other tests beside
expect.set_options(timeout=_PATIENCE_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS, timeout=90_000)
        yield browser
        browser.close()


def admit(server: PageServer, browser: Browser, kept: Path) -> Path:
    """Keep what a browser has after it came by the address that the command gave out."""
    page = browser.new_page()
    page.goto(server.address)
    page.locator("main").wait_for(timeout=_PATIENCE_MS)
    assert "code" not in page.url
    page.context.storage_state(path=kept)
    page.context.close()
    return kept


@contextmanager
def watched_page(server: PageServer, browser: Browser, admitted: Path) -> Iterator[Page]:
    """Give a page, and fail if it complained or asked for anything elsewhere."""
    context = browser.new_context(storage_state=admitted, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((server.root, f"blob:{server.root}"))] == []
