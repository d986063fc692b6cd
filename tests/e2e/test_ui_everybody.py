"""Every view, form and dialogue in a real browser: fit for all eyes, ears and hands, at every width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_browsers import CHROMIUM, admit, chromium, watched_page
from page_scenes import SCENES, go_there, indexed
from page_servers import PageServer
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from page_scenes import Scene
    from playwright.sync_api import Browser, Page

_ANSWERED = [name for name, scene in SCENES.items() if not scene.of_nothing and name != "gone"]
_WIDTHS = (360, 1280, 2560)
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_IS_TOO_WIDE = """() => [document.documentElement, document.querySelector('main')].some(
    (one) => one.scrollWidth > innerWidth)"""

_NAME_STOPS = """() => {
  const around = document.querySelector('dialog[open]') ?? document;
  const all = around.querySelectorAll('a[href], button, input, select, summary, [tabindex]');
  const isStop = (one) => one.tabIndex >= 0 && one.checkVisibility({ opacityProperty: false })
    && !(one.type === 'radio' && !one.checked);
  const stops = [...all].filter(isStop);
  stops.forEach((one) => { one.dataset.stop = ''; });
  document.activeElement?.blur();
  return stops.length;
}"""
_MORE_STOPS = 60
"""What the documents have that are shown while Tab goes from hit to hit."""
_ROUNDS = 2
"""An answer that arrives meanwhile takes the focus away with what it replaces, and Tab begins again."""
_STOPS_LEFT = """() => [...document.querySelectorAll('[data-stop]')].filter((one) => one.checkVisibility())
  .map((one) => one.outerHTML.slice(0, 200))"""
_AT = """() => {
  const one = document.activeElement;
  const isStop = 'stop' in one.dataset;
  delete one.dataset.stop;
  const { left, right, top, bottom } = one.getBoundingClientRect();
  const isOutlined = (part) => part && getComputedStyle(part).outlineStyle !== 'none';
  return {
    name: one.outerHTML.slice(0, 200),
    isSeen: !isStop || right > 0 && bottom > 0 && left < innerWidth && top < innerHeight
      && (isOutlined(one) || isOutlined(one.nextElementSibling)),
  };
}"""

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
    pytest.mark.slow,
    pytest.mark.timeout(600),  # the first test waits for the index
]


class Site:
    """The pages of an index and of one of nothing, and the browser that was admitted to both."""

    def __init__(self, browser: Browser, servers: tuple[PageServer, PageServer], place: Path) -> None:
        self.browser = browser
        self._servers = servers
        self._admitted = tuple(admit(one, browser, place / f"state-{one.port}.json") for one in servers)

    def scene_page(self, scene: Scene) -> tuple[PageServer, Path]:
        return self._servers[scene.of_nothing], self._admitted[scene.of_nothing]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("place")
    with indexed(place) as (index, empty), PageServer(index) as full, PageServer(empty) as bare, chromium() as browser:
        yield Site(browser, (full, bare), place)


@pytest.mark.parametrize("name", _ANSWERED)
def test_a_checker_of_accessibility_finds_nothing(site: Site, name: str) -> None:
    server, admitted = site.scene_page(SCENES[name])
    with watched_page(server, admitted) as page:
        check(page, server.root, SCENES[name])


@pytest.mark.parametrize("name", [name for name in SCENES if name not in _ANSWERED])
def test_it_finds_nothing_either_where_there_is_no_answer(site: Site, name: str) -> None:
    server, admitted = site.scene_page(SCENES[name])
    page = site.browser.new_page(storage_state=admitted)  # browsers note in the console what they get no answer to
    check(page, server.root, SCENES[name])
    page.context.close()


def check(page: Page, root: str, scene: Scene) -> None:
    for width in _WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        go_there(page, root, scene)
        assert not page.evaluate(_IS_TOO_WIDE), width
        for scheme in _SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", _ANSWERED)
def test_tab_reaches_all_that_can_be_clicked_and_shows_where_it_is(site: Site, name: str) -> None:
    server, admitted = site.scene_page(SCENES[name])
    with watched_page(server, admitted) as page:
        go_there(page, server.root, SCENES[name])
        n_keys = page.evaluate(_NAME_STOPS) + _MORE_STOPS
        for _ in range(_ROUNDS):
            assert [at["name"] for at in press_tab(page, n_keys) if not at["isSeen"]] == []
            if not (left := page.evaluate(_STOPS_LEFT)):
                break
        assert left == []


def press_tab(page: Page, times: int) -> Iterator[dict[str, Any]]:
    """Yield what has the focus after each key."""
    for _ in range(times):
        page.keyboard.press("Tab")
        yield page.evaluate(_AT)


def test_a_journey_through_all_views_needs_no_pointer(site: Site) -> None:
    server, admitted = site.scene_page(SCENES["start"])
    with watched_page(server, admitted) as page:
        page.goto(f"{server.root}/ui/")
        expect(page.locator(".hit").first).to_be_visible()
        page.keyboard.press("/")
        page.keyboard.type("lantern path:handbook.md")
        expect(page.locator(".how")).to_contain_text("by words and meaning")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".document")).to_be_focused()
        expect(page.locator(".counter")).to_contain_text("1 of")
        page.keyboard.press("n")
        expect(page.locator(".counter")).to_contain_text("2 of")
        expect(page.locator(".similar li").first).to_be_visible()
        press(page, "Show in folder", shown="dialog[open]", back=True)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        press(page, "Neighbours", shown=".point")
        press(page, "Settings", shown=".settings-list")
        press(page, "Index", shown=".tile", back=True)
        press(page, "By a rule", shown=".left-out .file-name >> text=gondola-run.log")


def press(page: Page, name: str, *, shown: str, back: bool = False) -> None:
    """Press Tab until what has the focus is called like this, and Enter then."""
    for _ in range(300):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            page.keyboard.press("Enter")
            expect(page.locator(shown).first).to_be_visible()
            return
    pytest.fail(f"Tab leads to no {name}")
