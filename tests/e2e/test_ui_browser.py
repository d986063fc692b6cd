"""The page in a real browser: Chromium, where it is installed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from commands import DIRINDEX, run_command
from page_browsers import CHROMIUM, admit, chromium, watched_page
from page_engines import Standin
from page_samples import write_samples
from page_servers import PageServer
from playwright.sync_api import Browser, Page, Route, expect
from scanned_pages import picture, scan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
_MESSAGE = "The lantern of the cellar"
_SHOWN = (
    ("lantern.rb", ".row .code-keyword", "def"),
    ("lantern.md", ".prose th", "Lantern"),
    ("lantern.csv", ".tables tr:nth-child(3) td.number", "20"),
    ("lantern.xlsx", ".tables tr:nth-child(2) td", "Light the lantern"),
    ("lantern.pptx", ".slides li:nth-child(2) p", "Who holds the lantern?"),
    ("lantern.docx", ".prose h3", "Oil"),
    ("lantern.docx", ".prose p", "A lantern in a letter."),
    ("lantern.docx", ".prose tr:nth-child(2) td:has(mark)", "Oil of the lantern"),
    (_MESSAGE, ".headers dd", "The lantern of the cellar"),
    ("lantern.svg", ".row code", "lantern in a drawing"),
)
_FORMS = (
    *("lantern.rb", "lantern.md", "lantern.csv", "lantern.xlsx", "lantern.pptx", "lantern.docx", _MESSAGE),
    *("lantern.pdf", "lantern.png", "lantern-scan.pdf"),
)
# Who types pauses when a test calls pause(), whatever time has passed.
_PAUSES = """() => {
  const wait = setTimeout;
  window.setTimeout = (then, ms) => (ms === 250 ? void (window.pause = then) : wait(then, ms));
}"""
_DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
_NAME = "<b onclick=alert(1)>&quot;.md"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the variables by which scanned pages are read."""
    standin = Standin(tmp_path_factory.mktemp("tesseract"))
    return {"DIRINDEX_OCR__ENGINE": "tesseract", "DIRINDEX_OCR__TESSERACT": str(standin.command)}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory, reading: dict[str, str]) -> Path:
    place = tmp_path_factory.mktemp("place")
    docs = place / "docs"
    docs.mkdir()
    (docs / "garden.md").write_text("# Garden\n\nCarrots grow in the garden, says 🥕 Anna.\n")
    (docs / "keys.py").write_text('"""Carrots."""\n\n\ndef rotate(key: str) -> str:\n    return key[::-1]  # carrots\n')
    (docs / "long.txt").write_text("\n".join(f"line {number}" for number in range(300)) + "\nparsnips at the end\n")
    (docs / "radish\u202efdp.md").write_text("# Radish\n\nRadish\u2066es.\n")
    (docs / _NAME).write_text(f"# {_HOSTILE}\n\nTurnips {_HOSTILE} turnips.\n")
    (docs / "turnip-broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (docs / ".gitignore").write_text("*.log\n")
    (docs / "zebra-<i>run.log").write_text("started\n")
    (docs / "lantern-scan.pdf").write_bytes(scan("A letter.", picture("The lantern of the harbour.")))
    write_samples(docs)
    command: list[str | Path] = [DIRINDEX, "index", docs, "--quiet", "--data-dir", place / "data"]
    run_command(command, check=False, env={**os.environ, **reading})  # one file cannot be read
    return place / "data"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the directory of an editor that only notes what it is asked to open."""
    place = tmp_path_factory.mktemp("programs")
    editor = place / "codium"
    os.mkfifo(place / "asked")
    editor.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {place}/asked\n")
    editor.chmod(0o755)
    return place


@pytest.fixture(scope="module")
def server(data_dir: Path, opened: Path, reading: dict[str, str]) -> Iterator[PageServer]:
    with PageServer(data_dir, **reading, PATH=f"{opened}:{os.environ['PATH']}", VISUAL="codium") as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def admitted(server: PageServer, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return admit(server, browser, tmp_path_factory.mktemp("browser") / "state.json")


@pytest.fixture
def page(server: PageServer, admitted: Path) -> Iterator[Page]:
    with watched_page(server, admitted) as page:
        page.goto(f"{server.root}/ui/")
        expect(page.locator(".hits > li").first).to_be_visible()
        yield page


def test_hits_come_while_one_types_and_mark_what_matched(page: Page) -> None:
    page.keyboard.type("carrots garden")
    first = page.locator(".hit").first
    expect(first).to_contain_text("says 🥕 Anna")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    assert first.locator("mark").all_inner_texts() == ["Garden", "Carrots", "garden"]
    assert page.url.endswith("?q=carrots+garden")


def test_the_hits_in_view_are_drawn_before_those_below_the_window(page: Page) -> None:
    def multiply(route: Route) -> None:
        answer = route.fetch().json()
        answer["hits"] = [{**hit, "path": f"/docs/{number}/a.md"} for hit in answer["hits"][:1] for number in range(30)]
        route.fulfill(json=answer)

    files = ".results > .hits > li"
    page.evaluate(
        """(files) => {
          const later = setTimeout;
          window.setTimeout = (run, ms) => (ms === 250 ? 0 : later(run, ms)); // who types does not pause
          window.drawn = [];
          const note = () => drawn.push(document.querySelectorAll(files).length);
          new MutationObserver(note).observe(document.querySelector(".results > .hits"), { childList: true });
        }""",
        files,
    )
    page.route("**/api/v1/search", multiply)
    page.keyboard.insert_text("carrots")
    expect(page.locator(files)).to_have_count(30)
    in_view, all_of_them = page.evaluate("drawn")
    assert in_view < all_of_them == 30


def test_a_hit_is_looked_at_and_its_link_leads_there_again(page: Page) -> None:
    page.locator("#query").fill("parsnips")
    page.locator(".hit", has_text="parsnips at the end").click()
    expect(page.locator(".preview .wanted")).to_contain_text("parsnips at the end")
    expect(page.locator(".preview .wanted")).to_be_in_viewport()
    kept = page.url
    page.go_back()
    assert "doc=" not in page.url
    page.goto(kept)
    expect(page.locator(".preview .wanted")).to_contain_text("parsnips at the end")
    expect(page.locator("#query")).to_have_value("parsnips")


def _pause(page: Page) -> None:
    """Let who types pause, on a page with ``_PAUSES``, and wait until the answer by meaning has come."""
    with page.expect_response(lambda response: '"hybrid"' in (response.request.post_data or "")):
        page.evaluate("pause()")
    page.evaluate(_DRAWN)


def test_a_click_counts_though_other_hits_come_while_the_button_is_down(page: Page) -> None:
    page.evaluate(_PAUSES)
    page.locator("#query").fill("parsnips")
    page.locator(".hit", has_text="parsnips at the end").hover()
    page.mouse.down()
    _pause(page)
    expect(page.locator(".how")).to_contain_text("by words;")
    page.mouse.up()
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    expect(page.locator(".preview .wanted")).to_contain_text("parsnips at the end")


@pytest.mark.slow
@pytest.mark.parametrize("opens_menu", ["right", "left"])
def test_hits_come_though_a_menu_kept_the_release_of_a_button(page: Page, opens_menu: Literal["left", "right"]) -> None:
    page.locator("#query").fill("parsnips")
    hit = page.locator(".hit", has_text="parsnips at the end")
    hit.hover()
    page.mouse.down(button=opens_menu)
    hit.dispatch_event("contextmenu")
    page.locator("#query").fill("carrots")
    expect(page.locator(".hit").first).to_contain_text("Carrots")
    page.mouse.up(button=opens_menu)


def test_keys_stay_at_their_hit_when_more_hits_come(page: Page) -> None:
    page.evaluate(_PAUSES)
    page.locator("#query").fill("parsnips")
    expect(page.locator(".hit")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    _pause(page)
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    expect(page.locator(".hit", has_text="parsnips at the end")).to_be_focused()


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


def test_filters_stand_beside_the_count_of_hits_and_are_removed_there(page: Page) -> None:
    page.goto(f"{page.url}?q=carrots&type=python&type=markdown")
    state, parsnips = page.locator(".bar .state"), "parsnips"
    expect(state).to_contain_text(re.compile(r"hits.*in.*python ×.*markdown ×"))  # noqa: RUF001 - the sign on a button
    page.locator("#query").fill(parsnips)
    expect(state).to_contain_text(re.compile("Nothing was found.*python"))
    for name in ("python", "markdown"):
        page.get_by_role("button", name=f"Remove the filter Type {name}").click()
        expect(page.locator("#query")).to_be_focused()
    expect(page.locator(".hit mark").first).to_have_text(parsnips)
    assert "type=" not in page.url


def test_a_note_keeps_what_was_typed_as_it_was_typed(page: Page) -> None:
    page.keyboard.type("type:markdwon carrots")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    note = page.locator(".notes p").first
    expect(note).to_contain_text("type:markdwon is searched for as words")
    assert note.evaluate("(note) => getComputedStyle(note, '::first-letter').textTransform") == "none"
    expect(page.locator(".n-files")).not_to_contain_text("0 files")


def test_a_first_run_is_not_said_to_have_no_files(page: Page) -> None:
    now = page.evaluate("async () => (await import('./api.js')).get('changes', {})")
    run = {"phase": "reading", "directories": ["/docs"], "files_done": 3, "files_total": 0}
    page.route("**/api/v1/changes**", lambda route: route.fulfill(json=now | {"files": 0, "chunks": 0, "run": run}))
    page.reload()
    expect(page.locator(".stand")).to_have_text(re.compile("^Reading"))


def test_everything_can_be_done_by_keys(page: Page) -> None:
    page.keyboard.type("carrots")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit").first).to_be_focused()
    expect(page.locator(".preview h2")).not_to_be_empty()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".document")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".hit").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit").first).to_be_focused()
    page.keyboard.press("Control+k")
    expect(page.locator("#query")).to_be_focused()


def test_enter_goes_to_the_first_hit_and_leaves_the_list_as_it_is(page: Page) -> None:
    page.keyboard.type("carrot gard")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    before = page.locator(".hits").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_be_focused()
    assert page.locator(".hits").inner_text() == before
    page.reload()
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    assert page.locator(".hits").inner_text() == before


def test_a_question_mark_in_the_empty_field_explains_the_keys(page: Page) -> None:
    page.locator("#query").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Ctrl+K")
    page.keyboard.press("Escape")
    page.keyboard.type("why?")
    expect(page.locator("#query")).to_have_value("why?")


def test_names_and_texts_of_files_never_become_markup(page: Page) -> None:
    page.locator("#query").fill("turnips")
    expect(page.locator(".file h3").first).to_have_text(_NAME)
    page.locator(".hit").first.click()
    expect(page.locator(".preview .wanted")).to_contain_text(_HOSTILE)
    assert page.locator("main img, main script, main b").count() == 0
    assert page.title() == "dirindex"


def test_no_name_and_no_text_turns_its_direction(page: Page) -> None:
    page.locator("#query").fill("radish")
    expect(page.locator(".file h3").first).to_have_text("radish\ufffdfdp.md")
    page.locator(".hit").first.click()
    expect(page.locator(".preview h2")).not_to_be_empty()
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.locator("body").inner_html())


def test_where_nothing_matches_well_what_no_search_finds_is_listed(page: Page) -> None:
    page.locator("#query").fill("broken xyzzy")
    expect(page.locator(".missing .file-name").first).to_have_text("turnip-broken.pdf")
    expect(page.locator(".missing")).to_contain_text("Failed")
    page.locator("#query").fill("carrots garden")
    expect(page.locator(".missing")).to_be_hidden()
    page.locator("#query").fill("broken xyzzy")
    page.get_by_role("button", name="All of what failed or was skipped").click()
    expect(page.locator(".left-out")).to_contain_text("turnip-broken.pdf")


@pytest.mark.slow
def test_what_rules_leave_out_is_named_where_nothing_matches_well(page: Page) -> None:
    page.locator("#query").fill("zebra xyzzy")
    missing = page.locator(".missing")
    expect(missing.locator(".file-name", has_text="zebra-<i>run.log")).to_be_visible()
    expect(missing.locator(".causes")).to_contain_text("*.log")
    page.get_by_role("button", name="All of what rules leave out").click()
    expect(page.locator(".left-out")).to_contain_text("zebra-<i>run.log")
    expect(page.get_by_role("button", name="By a rule")).to_have_attribute("aria-pressed", "true")
    kept = page.url
    page.get_by_role("button", name="Failed").click()
    expect(page.locator(".left-out")).not_to_contain_text("zebra")
    page.goto(kept)
    expect(page.locator(".left-out")).to_contain_text("zebra-<i>run.log")


def test_a_browser_that_was_not_admitted_is_told_what_to_do(server: PageServer, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{server.root}/ui/?q=carrots#code=wrong")
    expect(page.locator(".state .problem")).to_contain_text("Run dirindex ui again")
    expect(page.locator(".save")).to_be_hidden()
    expect(page.locator(".hits > li")).to_have_count(0)
    page.context.close()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("dark", 1280), ("light", 360), ("dark", 360))),
    ],
)
def test_a_checker_of_accessibility_finds_nothing(page: Page, scheme: Literal["light", "dark"], width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#query").fill("carrots")
    page.locator(".hit mark").first.click()
    expect(page.locator(".preview .wanted")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_each_kind_is_shown_in_its_form(page: Page) -> None:
    for name, shown, text in _SHOWN:
        look_at(page, name)
        expect(page.locator(f".document {shown}").first).to_contain_text(text)
        expect(page.locator(".document mark").first).to_have_text(re.compile("lantern", re.IGNORECASE))
        assert page.locator("main script, .document svg, .document b, .document img").count() == 0


@pytest.mark.slow
def test_pages_and_pictures_are_drawn_with_the_words_marked(page: Page) -> None:
    for name, has_marks in (("lantern.pdf", True), ("lantern.png", False), ("lantern-scan.pdf", True)):
        look_at(page, name)
        image = page.locator(".sheet-page img").first
        expect(image).to_be_visible()
        expect(image).to_have_js_property("complete", value=True)
        assert image.evaluate("one => one.naturalWidth") > 100
        spots = page.locator(".sheet-page .spot")
        if has_marks:
            expect(spots.first).to_be_visible()
        else:
            expect(spots).to_have_count(0)
        page.get_by_role("button", name="As text").click()
        expect(page.locator(".document mark").first).to_be_visible()


@pytest.mark.slow
def test_paper_does_not_glare_in_the_dark_and_pictures_keep_their_colours(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    for name, is_dimmed in (("lantern.pdf", True), ("lantern-scan.pdf", True), ("lantern.png", False)):
        look_at(page, name)
        filters = page.locator(".sheet-page img").first.evaluate("one => getComputedStyle(one).filter")
        assert filters.startswith("brightness" if is_dimmed else "none")


@pytest.mark.slow
def test_the_matches_of_an_only_page_are_counted(page: Page) -> None:
    for name in ("lantern-scan.pdf", "lantern.png"):
        look_at(page, name)
        expect(page.locator(".counter")).to_have_text("1 of 1")


def test_matches_are_gone_to_one_after_the_other(page: Page) -> None:
    look_at(page, "lantern.rb")
    counter = page.locator(".counter")
    expect(counter).to_have_text("1 of 3")
    page.get_by_role("button", name="Next match").click()
    expect(counter).to_have_text("2 of 3")
    page.locator(".document").focus()
    page.keyboard.press("n")
    expect(counter).to_have_text("3 of 3")
    expect(page.locator("mark.current")).to_be_in_viewport()
    page.keyboard.press("p")
    expect(counter).to_have_text("2 of 3")


def test_pages_that_are_drawn_late_do_not_count_matches_of_another_document(page: Page) -> None:
    held: list[Route] = []
    page.route("**/page?**", lambda route: held.append(route))  # noqa: PLW0108 - Playwright takes no method of a list
    with page.expect_request("**/page?**"):
        look_at(page, "lantern.png")
    look_at(page, "lantern.rb")
    counter = page.locator(".counter")
    expect(counter).to_have_text("1 of 3")
    for route in held:
        with page.expect_response("**/page?**"):
            route.continue_()
    page.evaluate(_DRAWN)
    expect(counter).to_have_text("1 of 3")


def test_markdown_is_rendered_without_what_it_brings_along(page: Page) -> None:
    look_at(page, "lantern.md")
    links = page.locator(".document a[target]")
    assert [(one.get_attribute("href"), one.get_attribute("rel")) for one in links.all()] == [
        ("https://example.org/lantern", "noopener noreferrer")
    ]
    expect(page.locator(".document")).to_contain_text("<b onclick=alert(1)>bold</b>")
    expect(page.locator(".document .image")).to_have_text("a picture")


@pytest.mark.slow
def test_links_of_markdown_lead_to_files_of_the_index(page: Page) -> None:
    look_at(page, "lantern.md")
    assert page.locator(".document a:not([target])").all_inner_texts() == ["the code", "below"]
    page.get_by_role("link", name="below").click()
    expect(page.locator(".preview .wanted")).to_have_text("A second part")
    kept = page.url
    page.go_back()
    page.get_by_role("link", name="the code").click()
    expect(page.locator(".head .path")).to_contain_text("lantern.rb")
    page.goto(kept)
    expect(page.locator(".preview .wanted")).to_have_text("A second part")


@pytest.mark.slow
def test_what_is_attached_leads_to_it_and_back(page: Page) -> None:
    look_at(page, _MESSAGE)
    related = page.locator(".relations").get_by_role("button")
    expect(related).to_have_text("<i>list.csv")
    related.click()
    expect(page.locator(".document td").first).to_have_text("lantern")
    expect(related).to_have_text("lantern.eml")
    related.click()
    expect(page.locator(".headers")).to_be_visible()


@pytest.mark.slow
def test_a_checker_of_accessibility_finds_nothing_in_what_opens(page: Page) -> None:
    look_at(page, "lantern.md")
    expect(page.locator(".similar li").first).to_be_visible()
    check_in_both_themes(page)
    page.get_by_role("button", name="Show in folder").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check_in_both_themes(page)
    page.get_by_role("button", name="Cancel").click()
    page.locator("#query").fill("broken xyzzy")
    expect(page.locator(".missing")).to_be_visible()
    check_in_both_themes(page)
    page.locator(".document").evaluate("(shown) => shown.setAttribute('aria-busy', 'true')")  # as while another loads
    check_in_both_themes(page)
    page.locator("#query").press_sequentially(" type:")
    expect(page.get_by_role("option").first).to_be_visible()
    check_in_both_themes(page)


@pytest.mark.slow
def test_a_file_is_opened_once_the_person_has_allowed_it(page: Page, opened: Path) -> None:
    look_at(page, "lantern.rb")
    button = page.get_by_role("button", name="Open in editor")
    button.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    button.click()
    page.get_by_role("button", name="Allow and open").click()
    expect(page.locator(".said")).to_have_text("Opened with codium")
    assert (opened / "asked").read_text().splitlines()[1].endswith("lantern.rb:1")
    button.click()
    expect(page.locator(".said")).to_have_text("Opened with codium")
    expect(page.locator("dialog")).to_have_count(0)
    # Reading waits for the editor to write.
    assert (opened / "asked").read_text().splitlines()[1].endswith("lantern.rb:1")


@pytest.mark.slow
def test_similar_files_are_listed_and_lead_on(page: Page) -> None:
    look_at(page, "lantern.md")
    similar = page.locator(".similar li button")
    expect(similar.first).to_be_visible()
    name = similar.first.inner_text()
    similar.first.click()
    expect(page.locator(".head .path")).to_contain_text(name)


def test_names_and_values_of_filters_are_completed(page: Page) -> None:
    page.keyboard.type("lantern ty")
    expect(page.get_by_role("option", name="type:")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("mark")
    expect(page.get_by_role("option", name="markdown")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#query")).to_have_value("lantern type:markdown ")
    expect(page.locator(".hits > li")).to_have_count(1)
    page.keyboard.type("author:an")
    expect(page.get_by_role("option", name="Anna Berg").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".suggestions")).to_be_hidden()


@pytest.mark.slow
@pytest.mark.parametrize("name", _FORMS)
def test_a_checker_of_accessibility_finds_nothing_in_any_form(page: Page, name: str) -> None:
    look_at(page, name)
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        check_in_both_themes(page)
        assert page.evaluate("document.querySelector('main').scrollWidth <= innerWidth")


def check_in_both_themes(page: Page) -> None:
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def look_at(page: Page, name: str) -> None:
    """Choose the first hit in a file."""
    path = "lantern.eml" if name == _MESSAGE else name
    page.locator("#query").fill(f"lantern path:{path}")
    file = page.locator(".hits > li").filter(has=page.get_by_role("heading", name=name, exact=True))
    file.locator(".hit mark").first.click()
    expect(page.locator(".head .path")).to_contain_text(path)
    expect(page.locator(".document")).not_to_have_attribute("aria-busy", "true")
