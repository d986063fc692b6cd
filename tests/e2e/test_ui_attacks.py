"""What a page of somebody else's server on the same machine can do from the browser of the person: nothing."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from commands import DIRINDEX, run_command
from page_browsers import CHROMIUM, OPTIONS, admit
from page_servers import PageServer
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

_FOREIGN_NAME = "rebound.example"

_TRY_ALL = """async (root) => {
  const tried = {};
  const name = async (what, act) => {
    try { tried[what] = await act(); } catch (error) { tried[what] = error.name; }
  };
  const asked = { credentials: "include" };
  const body = JSON.stringify({ path: "" });
  await name("read", async () => (await fetch(`${root}/api/v1/status`, asked)).status);
  await name("read the page", async () => (await fetch(`${root}/ui/main.js`, asked)).status);
  await name("search", async () => (await fetch(`${root}/api/v1/search`, {
    ...asked, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query: "x" }),
  })).status);
  for (const path of ["api/v1/index", "api/v1/directories/forget", "ui/open", "ui/session"]) {
    const sent = { ...asked, mode: "no-cors", method: "POST", body };
    await name(path, async () => (await fetch(`${root}/${path}`, sent)).type);
  }
  await name("run its scripts", () => import(`${root}/ui/main.js`));
  await name("frame", async () => {
    const frame = document.createElement("iframe");
    frame.src = `${root}/ui/`;
    document.body.append(frame);
    await new Promise((resolve) => { frame.onload = resolve; });
    return frame.contentDocument?.body?.textContent ?? "closed";
  });
  return tried;
}"""

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
    pytest.mark.slow,  # each of the doors is tried without a browser, too
]


class _Foreign(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = b"<!doctype html><title>foreign</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    (place / "docs/note.md").write_text("# Garden\n\nCarrots grow in the garden.\n")
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command)
    with PageServer(place / "data") as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    rule = f"--host-resolver-rules=MAP {_FOREIGN_NAME} 127.0.0.1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS, rule], timeout=90_000)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def admitted(server: PageServer, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return admit(server, browser, tmp_path_factory.mktemp("browser") / "state.json")


@pytest.fixture
def page(browser: Browser, admitted: Path) -> Iterator[Page]:
    context = browser.new_context(storage_state=admitted)
    yield context.new_page()
    context.close()


@pytest.fixture
def foreign() -> Iterator[str]:
    """Give the address of a server on another port, to which the browser sends the cookie as well."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Foreign) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_of_another_port_learns_nothing_and_does_nothing(page: Page, server: PageServer, foreign: str) -> None:
    answers: dict[str, int] = {}
    page.on("response", lambda one: answers.update({one.url.removeprefix(server.root): one.status}))
    page.goto(foreign)
    tried: dict[str, Any] = page.evaluate(_TRY_ALL, server.root)
    refused = {name for name, result in tried.items() if result == "TypeError"}
    assert refused >= {"read", "read the page", "search", "run its scripts"}, tried
    assert tried["frame"] == "closed"
    for path in ("/api/v1/index", "/api/v1/directories/forget", "/ui/open", "/ui/session"):
        assert answers.get(path, 403) in {401, 403}, answers


def test_a_window_that_it_opens_is_none_of_its_own(page: Page, server: PageServer, foreign: str) -> None:
    page.goto(foreign)
    with page.context.expect_page() as opened:
        page.evaluate("root => { window.other = window.open(`${root}/ui/?q=carrots`); }", server.root)
    opened.value.locator(".hit").first.wait_for()
    assert page.evaluate("window.other.closed"), "the page would be within its reach"
    assert opened.value.evaluate("window.opener") is None


def test_another_name_for_this_machine_reaches_nothing(page: Page, server: PageServer) -> None:
    answer = page.goto(f"http://{_FOREIGN_NAME}:{server.port}/ui/")
    assert answer is not None
    assert answer.status == 421
    assert page.evaluate("fetch('/api/v1/status').then((one) => one.status)") == 421
