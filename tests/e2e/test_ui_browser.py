"""The page in a real browser: Chromium, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_servers import PageServer
from playwright.sync_api import Browser, Page, expect, sync_playwright
from serving import DIRINDEX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHROMIUM = shutil.which("chromium")
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
_NAME = "<b onclick=alert(1)>&quot;.md"

pytestmark = pytest.mark.skipif(_CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    docs = place / "docs"
    docs.mkdir()
    (docs / "garden.md").write_text("# Garden\n\nCarrots grow in the garden, says 🥕 Anna.\n")
    (docs / "keys.py").write_text('"""Carrots."""\n\n\ndef rotate(key: str) -> str:\n    return key[::-1]  # carrots\n')
    (docs / "long.txt").write_text("\n".join(f"line {number}" for number in range(300)) + "\nparsnips at the end\n")
    (docs / _NAME).write_text(f"# {_HOSTILE}\n\nTurnips {_HOSTILE} turnips.\n")
    command: list[str | Path] = [DIRINDEX, "index", docs, "--quiet", "--data-dir", place / "data"]
    subprocess.run(command, check=True, timeout=100)
    return place / "data"


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[PageServer]:
    with PageServer(data_dir) as server:
        yield server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_OPTIONS, timeout=90_000)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def admitted(server: PageServer, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep what a browser has after it came by the address that the command gave out."""
    kept = tmp_path_factory.mktemp("browser") / "state.json"
    page = chromium.new_page()
    page.goto(server.address)
    expect(page.locator(".hits > li").first).to_be_visible(timeout=30_000)
    assert "code" not in page.url
    page.context.storage_state(path=kept)
    page.context.close()
    return kept


@pytest.fixture
def page(server: PageServer, chromium: Browser, admitted: Path) -> Iterator[Page]:
    """Give a page of a browser that was admitted, and fail if it complained or asked for anything elsewhere."""
    context = chromium.new_context(storage_state=admitted, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server.root}/ui/")
    expect(page.locator(".hits > li").first).to_be_visible()
    yield page
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((server.root, f"blob:{server.root}"))] == []


def test_hits_come_while_one_types_and_mark_what_matched(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("carrots garden")
    first = page.locator(".hit").first
    expect(first).to_contain_text("says 🥕 Anna")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    assert first.locator("mark").all_inner_texts() == ["Garden", "Carrots", "garden"]
    assert page.url.endswith("?q=carrots+garden")


def test_a_hit_is_looked_at_and_its_link_leads_there_again(page: Page) -> None:
    page.locator("#query").fill("parsnips")
    page.locator(".hit").first.click()
    expect(page.locator(".preview .wanted")).to_contain_text("parsnips at the end")
    expect(page.locator(".preview .wanted")).to_be_in_viewport()
    kept = page.url
    page.go_back()
    expect(page.locator(".preview .wanted")).to_have_count(0)
    page.goto(kept)
    expect(page.locator(".preview .wanted")).to_contain_text("parsnips at the end")
    expect(page.locator("#query")).to_have_value("parsnips")


def test_filters_toggle_and_stand_in_the_address(page: Page) -> None:
    page.locator("#query").fill("carrots")
    expect(page.locator(".hits > li")).to_have_count(2)
    python = page.get_by_role("button", name="python 1")
    python.click()
    expect(page.locator(".hits > li")).to_have_count(1)
    assert page.url.endswith("?q=carrots&type=python")
    expect(page.get_by_role("button", name="python 1")).to_have_attribute("aria-pressed", "true")
    page.go_back()
    expect(page.locator(".hits > li")).to_have_count(2)
    page.go_forward()
    expect(page.locator(".hits > li")).to_have_count(1)
    page.get_by_role("button", name="python 1").click()
    expect(page.locator(".hits > li")).to_have_count(2)


def test_everything_can_be_done_by_keys(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("carrots")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit").first).to_be_focused()
    expect(page.locator(".preview h2")).not_to_be_empty()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#query")).to_be_focused()


def test_names_and_texts_of_files_never_become_markup(page: Page) -> None:
    page.locator("#query").fill("turnips")
    expect(page.locator(".file h3").first).to_have_text(_NAME)
    page.locator(".hit").first.click()
    expect(page.locator(".preview .wanted")).to_contain_text(_HOSTILE)
    assert page.locator("main img, main script, main b").count() == 0
    assert page.title() == "dirindex"


def test_a_browser_that_was_not_admitted_is_told_what_to_do(server: PageServer, chromium: Browser) -> None:
    page = chromium.new_page()
    page.goto(f"{server.root}/ui/?q=carrots#code=wrong")
    expect(page.locator(".state .problem")).to_contain_text("Run dirindex ui again")
    expect(page.locator(".hits > li")).to_have_count(0)
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_checker_of_accessibility_finds_nothing(page: Page, scheme: Literal["light", "dark"], width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#query").fill("carrots")
    page.locator(".hit").first.click()
    expect(page.locator(".preview .wanted")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
