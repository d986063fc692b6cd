"""The index at a glance, the neighbours of a document and the settings, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from commands import DIRINDEX, run_command
from page_browsers import CHROMIUM, admit, chromium, watched_page
from page_servers import PageServer
from playwright.sync_api import expect

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.notes import format_waiting
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.runs import hold_write_lock, recorded_run
from directory_indexer.storage.documents.runs import Origin, RunRequest, Verb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

_HOSTILE = '<img src=x onerror="document.title=1">'
_DIRECTORY = "<i>dir&quot;"
_OTHER_VIEWS = ("neighbours", "settings")

_NOTHING_MOVES = """[...document.querySelectorAll('*')].map(getComputedStyle).every(
    (style) => style.transitionDuration === '0s' && style.animationName === 'none')"""

_LINES_IN_TILE = """(tile) => [...tile.querySelectorAll('.said')].filter((line) => {
  const { top, left } = line.getBoundingClientRect();
  return left < tile.getBoundingClientRect().right && top < tile.getBoundingClientRect().bottom;
}).map((line) => line.textContent.split(' · ')[0])"""

_OF_WAITING = """async (isCovered) => {
  const { Stand } = await import('./views/stand.js');
  const stand = new Stand({ onChange: () => {} });
  const waiting = { chunks: 2, covered: isCovered, seconds: 120 };
  stand.show({ waiting, directories: [{}], paused: [], skipped: 0, failed: 0 }, []);
  return stand.part.querySelector('.doing').textContent;
}"""

_BELOW_HITS = """async (text) => {
  const { Hits } = await import('./views/hits.js');
  const hits = new Hits({ above: [], below: '' });
  const found = { path: '/a', kind: 'directory', excerpt: '', matched: true };
  const index = { directories: 1, chunks: 9, embedded: 7 };
  hits.show({ hits: [found], remarks: [{ kind: 'embedding', text }], index }, { query: 'a', ms: 1, isFirst: false });
  return [...hits.part.querySelectorAll('.notes')].at(-1).textContent;
}"""

_NAMES_IN_TILES = """async (width) => {
  const { Treemap } = await import('./views/treemap.js');
  const map = new Treemap();
  document.querySelector('main').replaceChildren(map.part);
  map.part.style.width = `${width}px`;
  const isInLine = (word) => new Set([...word.getClientRects()].map(({ top }) => top)).size === 1;
  const counts = { files: 1, chunks: 1, embedded: 1, failed: 0, skipped: 0, kinds: {}, directories: [] };
  const names = ['tower', 'letters of the lighthouse keeper', 'correspondence', 'oil and paint'];
  const directories = Array.from({ length: 20 }, (_, i) => (
    { ...counts, name: '', path: `/${names[i % 4]} ${i}`, bytes: 20 - i }));
  map.show({ ...counts, path: '', files: 20, bytes: 210, directories }, 'kind');
  return [...map.part.querySelectorAll('.tile')].map((tile) => {
    const [name] = tile.children;
    if (!name) return null;
    const word = document.createRange();
    word.setStart(name.firstChild, 0);
    word.setEnd(name.firstChild, name.textContent.indexOf(' '));
    const isCut = name.scrollWidth > name.clientWidth && tile.clientWidth < 70;
    const isWhole = !isCut && isInLine(word) && name.scrollHeight <= name.clientHeight;
    return isWhole && name.offsetTop + name.offsetHeight <= tile.clientHeight;
  });
}"""

_RUNS_SHOWN = """async () => {
  const { Runs } = await import('./views/runs.js');
  const runs = new Runs({});
  const run = (name, files_done) => ({ verb: 'index', directories: name ? [name] : [], files_done, phase: 'reading' });
  const one = (state, name, files = 0, message = '') => ({ kind: 'index', state, message, run: run(name, files) });
  const idle = Array.from({ length: 9 }, () => one('completed', '/idle'));
  const removed = one('completed', '/gone', 0, '2 files removed');
  runs.show([...idle, one('completed', '/work', 3), removed, one('completed', ''), one('running', '/long', 1)]);
  return [...runs.part.querySelectorAll('li > p:first-child')].map((line) => line.textContent);
}"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    for name in ("docs/garden", f"docs/{_DIRECTORY}", "more"):
        (place / name).mkdir(parents=True)
    for number in range(6):
        (place / f"docs/garden/note-{number}.md").write_text(f"# Garden {number}\n\nCarrots grow in row {number}.\n")
    (place / f"docs/{_DIRECTORY}/{_HOSTILE.replace('/', '')}.md").write_text(f"# {_HOSTILE}\n\nCarrots {_HOSTILE}.\n")
    (place / f"docs/{_DIRECTORY}/<b>empty.md").write_text("")
    (place / "docs/broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (place / "docs/.gitignore").write_text("*.log\n")
    (place / "docs/<u>run.log").write_text("started\n")
    (place / "more/boats.md").write_text("# Boats\n\nThey lie in the harbour.\n")
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command, check=False)  # one of the files cannot be read
    return place


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[PageServer]:
    with PageServer(place / "data") as server:
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
        yield page


def _look(page: Page, server: PageServer, view: str) -> None:
    page.goto(f"{server.root}/ui/?view={view}")
    ready = {"glance": ".tile", "neighbours": ".near li", "settings": ".settings-list"}[view]
    expect(page.locator(ready).first).to_be_visible()


@pytest.mark.slow
def test_a_tile_leads_to_a_search_there(page: Page, server: PageServer, place: Path) -> None:
    _look(page, server, "glance")
    page.get_by_role("link", name=re.compile("^garden: 6 files")).click()
    expect(page.locator(".hits > li")).to_have_count(6)
    assert page.locator(".facets [aria-pressed=true]").get_attribute("title") == str(place / "docs/garden")
    page.go_back()
    expect(page.locator(".tile").first).to_be_visible()


def test_colours_say_what_words_say(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    tile = page.get_by_role("link", name=re.compile("^garden"))
    expect(tile).to_contain_text("markdown")
    expect(tile).to_contain_text("6 files")
    expect(page.get_by_role("radio", name="Found by meaning")).to_be_hidden()  # all is
    page.get_by_role("radio", name="Age").check()
    expect(tile).to_contain_text("changed")
    page.get_by_role("radio", name="Not in the index").check()
    expect(page.get_by_role("link", name=re.compile("1 skipped")).first).to_be_visible()


@pytest.mark.slow
def test_a_line_of_a_tile_is_shown_whole_or_not_at_all(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    tile = page.get_by_role("link", name=re.compile("^garden"))
    assert tile.evaluate(_LINES_IN_TILE) == ["6 files", "markdown"]
    tile.evaluate("one => Object.assign(one.parentElement.style, { width: '150px', height: '55px' })")
    assert tile.evaluate(_LINES_IN_TILE) == ["6 files"]


@pytest.mark.slow
def test_a_small_tile_shows_its_name_whole_or_no_text(page: Page, server: PageServer) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    _look(page, server, "settings")
    assert {*page.evaluate(_NAMES_IN_TILES, 328)} == {True, None}


@pytest.mark.slow
def test_a_long_name_takes_two_lines_in_a_narrow_window(page: Page, server: PageServer) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{server.root}/ui/?q=carrots")
    name = page.locator(".hits h3").first
    expect(name).to_be_visible()
    name.evaluate("(one) => (one.textContent = 'Inspection of the lighthouse.pdf')")
    n_lines = name.evaluate("(one) => Math.round(one.scrollHeight / parseFloat(getComputedStyle(one).lineHeight))")
    assert n_lines == 2
    assert name.evaluate("(one) => one.scrollHeight <= one.clientHeight + 1 && one.scrollWidth <= one.clientWidth")


def test_names_of_files_and_rules_stay_text(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    expect(page.get_by_role("link", name=re.compile(f"^{re.escape(_DIRECTORY)}"))).to_have_count(1)
    expect(page.locator(".left-out")).to_contain_text("<b>empty.md")
    page.get_by_role("button", name="By a rule").click()
    expect(page.locator(".left-out")).to_contain_text("<u>run.log")
    expect(page.locator(".left-out")).to_contain_text("*.log")
    _look(page, server, "neighbours")
    page.get_by_role("link", name=_HOSTILE.replace("/", "")).click()
    expect(page.locator(".point")).to_have_count(6)
    assert page.locator("main img, main script, main b, main i, main u").count() == 0
    assert page.title() == "Neighbours · dirindex"


def test_the_files_are_counted_alike_wherever_they_are_counted(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    expect(page.locator(".figures")).to_contain_text("7 + 1 skipped + 1 failed")
    expect(page.locator(".tracked")).to_contain_text("7 files + 1 skipped + 1 failed")
    expect(page.locator("footer")).to_contain_text("7 files + 1 skipped + 1 failed")


def test_the_page_says_of_passages_that_wait_for_the_model_what_the_terminal_says(
    page: Page, server: PageServer
) -> None:
    _look(page, server, "settings")
    for is_covered in (False, True):
        state = format_waiting(2, are_covered=is_covered)
        assert page.evaluate(_OF_WAITING, is_covered) == f"2 passages {state}; ready in about 2 minutes."
    assert page.evaluate(_BELOW_HITS, f"2 of 9 passages {state}") == f"2 of 9 passages {state}"


@pytest.mark.slow
def test_filters_that_were_opened_stay_open(page: Page, server: PageServer) -> None:
    narrow, wide = 700, 1280
    page.set_viewport_size({"width": narrow, "height": 800})
    page.goto(f"{server.root}/ui/?q=carrots")
    filters = page.locator(".facets details")
    for width in (wide, narrow):
        page.set_viewport_size({"width": width, "height": 800})
        expect(filters).to_have_js_property("open", width == wide)
    page.locator(".facets summary").click()
    for width in (wide, narrow):
        page.set_viewport_size({"width": width, "height": 800})
        expect(filters).to_have_js_property("open", value=True)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 1920])
def test_a_button_stands_beside_the_words_that_it_is_about(page: Page, server: PageServer, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    _look(page, server, "glance")
    gap, indent = page.locator(".now .doing").evaluate(
        """(words) => {
          const range = document.createRange();
          range.selectNodeContents(words);
          const [figures, button] = [document.querySelector('.figures'), words.nextElementSibling];
          const [text, above, beside] = [range, figures, button].map((one) => one.getBoundingClientRect());
          return [beside.left - text.right, text.left - above.left];
        }"""
    )
    assert 0 < gap <= 16
    assert indent == pytest.approx(0)


@pytest.mark.slow
def test_an_archive_is_called_as_its_file(page: Page, server: PageServer) -> None:
    _look(page, server, "settings")
    paths = ["/a/papers.zip!", "/a/b.eml!/b.zip!", "/b/b.zip!"]
    names = page.evaluate("(paths) => import('./views/facets.js').then((of) => [...of.namesOf(paths).values()])", paths)
    assert names == ["papers.zip", "b.eml/b.zip", "b/b.zip"]
    paths = ["/a/b.zip!/c/d.md", "/a/b.zip!/d.md", "/d.md"]
    shown = page.evaluate("(paths) => import('./words.js').then((of) => paths.map(of.directoryOf))", paths)
    assert shown == ["/a/b.zip/c", "/a/b.zip", "/"]


@pytest.mark.slow
def test_the_list_of_what_is_missing_follows_the_index(page: Page, server: PageServer, place: Path) -> None:
    _look(page, server, "glance")
    expect(page.locator(".left-out > li")).to_have_count(2)
    late = place / "docs/late.md"
    for n_files in (3, 2):
        late.touch() if n_files == 3 else late.unlink()
        run_command([DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"], check=False)
        expect(page.locator(".left-out > li")).to_have_count(n_files)


def test_what_is_missing_is_listed_by_reason(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    expect(page.locator(".left-out > li")).to_have_count(2)
    page.get_by_role("button", name="Failed 1").click()
    expect(page.locator(".left-out > li")).to_have_count(1)
    expect(page.locator(".left-out")).to_contain_text("broken.pdf")
    expect(page.get_by_role("button", name="Failed 1")).to_have_attribute("aria-pressed", "true")


@pytest.mark.slow
def test_a_directory_is_added_and_forgotten_by_keys_alone(page: Page, server: PageServer, place: Path) -> None:
    _look(page, server, "glance")
    page.get_by_role("button", name="Add a directory").focus()
    page.keyboard.press("Enter")
    page.keyboard.type(str(place / "more"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("1 file")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".tracked > li")).to_have_count(2)
    expect(page.locator(".doing")).to_contain_text("up to date")
    page.get_by_role("button", name=f"Forget …: {place / 'more'}").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("1 file with 1 passage will be removed")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".tracked > li")).to_have_count(2)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Forget it").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tracked > li")).to_have_count(1)
    assert (place / "more/boats.md").exists()


@pytest.mark.slow
def test_what_cannot_be_added_is_said_in_the_dialogue(
    server: PageServer, browser: Browser, admitted: Path, place: Path
) -> None:
    page = browser.new_page(storage_state=admitted)  # browsers note refusals in the console
    _look(page, server, "glance")
    page.get_by_role("button", name="Add a directory").click()
    page.keyboard.type(str(place / "docs/garden"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").last).to_contain_text("is tracked as a whole")
    expect(page.get_by_role("button", name="Check")).to_be_visible()
    page.context.close()


@pytest.mark.slow
def test_tiles_are_gone_through_by_arrows(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    page.locator(".treemap a[tabindex='0']").focus()
    seen = set()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        seen.add(page.locator(":focus").get_attribute("href"))
    assert len(seen) > 1
    assert page.locator(".treemap a[tabindex='0']").count() == 1


def test_what_an_answer_misses_leads_to_the_list_and_not_to_a_terminal(page: Page, server: PageServer) -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(f"{server.root}/ui/?q=carrots")
    expect(page.locator(".results")).not_to_contain_text("dirindex status")
    page.get_by_role("button", name="Missing here: 1 file that failed", exact=True).click()
    expect(page.locator(".left-out")).to_contain_text("broken.pdf")
    expect(page.locator(".left-out")).to_be_in_viewport()


@pytest.mark.slow
def test_runs_that_did_nothing_hide_no_other(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    assert page.evaluate(_RUNS_SHOWN) == ["Index longrunning", "Index idledone", "Index workdone", "Index gonedone"]


@pytest.mark.slow
def test_a_run_is_begun_at_the_page(page: Page, server: PageServer) -> None:
    _look(page, server, "glance")
    page.get_by_role("button", name="Look for changes").click()
    expect(page.locator(".stand-part [role=status]")).to_have_text("Indexing has started.")
    expect(page.locator(".runs .state-of").first).to_have_text("done")


@pytest.mark.slow
def test_a_run_of_a_terminal_is_stopped_paused_and_resumed_at_the_page(
    page: Page, server: PageServer, place: Path
) -> None:
    app = App(load_config(file=None, data_dir=place / "data", environ={}))
    request = RunRequest(Verb.INDEX, [file_path(place / "docs")], Origin.TERMINAL, "{}")
    told = page.locator(".stand-part [role=status]")
    _look(page, server, "glance")
    with hold_write_lock(app.docstore, app.lock_path) as lock:
        for act, said in (("Stop", "It will stop after"), ("Pause", "It will pause after")):
            with recorded_run(
                app.docstore, request, lock=lock, listener=lambda _: None, stop_reason=lambda: None
            ) as run:
                page.reload()
                page.get_by_role("button", name=act).click()
                expect(told).to_contain_text(said)
                while not run.must_stop:
                    assert server.process.poll() is None
    app.close()
    page.reload()
    expect(page.locator(".doing")).to_contain_text("Indexing is paused.")
    expect(page.locator(".runs .state-of").first).to_have_text("paused")
    expect(page.locator(".runs .state-of").nth(1)).to_have_text("stopped")
    page.get_by_role("button", name="Resume").first.click()
    expect(told).to_contain_text("Indexing has resumed.")
    expect(page.locator(".doing")).to_contain_text("up to date")


@pytest.mark.slow
def test_a_preview_leads_to_the_neighbours(page: Page, server: PageServer) -> None:
    page.goto(f"{server.root}/ui/?q=carrots")
    page.locator(".hit").first.click()
    page.get_by_role("button", name="Neighbours").click()
    expect(page.locator(".near > li")).to_have_count(6)
    page.go_back()
    expect(page.locator(".preview h2")).not_to_be_empty()


def test_neighbours_are_a_map_and_a_list(page: Page, server: PageServer) -> None:
    page.goto(f"{server.root}/ui/?q=carrots")
    page.locator(".hit").first.click()
    page.get_by_role("link", name="Neighbours").click()
    expect(page.locator(".near > li")).to_have_count(6)
    assert page.locator(".point").count() == 6
    page.get_by_role("radio", name="Topic").check()
    expect(page.locator(".groups-legend > li")).to_have_count(1)
    page.get_by_role("link", name="Its neighbours").first.click()
    expect(page.get_by_role("heading", name=re.compile("^Around"))).to_be_visible()
    page.locator(".near .file-name").first.click()
    expect(page.locator(".preview h2")).not_to_be_empty()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 900)])
def test_the_legend_of_the_neighbours_is_in_view(page: Page, server: PageServer, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    _look(page, server, "neighbours")
    page.locator(".near a").first.click()
    page.get_by_role("radio", name="Topic").check()
    expect(page.locator(".plot > .legend")).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_who_goes_through_the_neighbours_by_keys_keeps_their_place(page: Page, server: PageServer) -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    _look(page, server, "neighbours")
    page.locator(".near a").first.click()
    last = page.locator(".near .file-name").last
    page.locator(".point").last.hover()
    last.focus()
    page.locator(".point").first.dispatch_event("mouseenter")  # as when the map moves below a pointer that rests
    expect(last).to_be_in_viewport(ratio=1)


def test_settings_can_be_narrowed(page: Page, server: PageServer) -> None:
    _look(page, server, "settings")
    expect(page.locator(".settings-list > div", has_text="qdrant.endpoint")).to_contain_text("not set: the embedded")
    expect(page.locator(".settings-list").filter(has_text=re.compile("null:|None"))).to_have_count(0)
    expect(page.locator(".settings h3").first).to_have_text("Indexing")
    expect(page.locator(".settings-list > div", has_text="ignore_patterns").locator("li").first).to_have_text(".git")
    page.get_by_label("Find a setting").fill("max_file_size")
    expect(page.locator(".settings-list dt")).to_have_text(["indexing.max_file_size"])
    page.get_by_label("Find a setting").fill("")
    page.get_by_label("Only what differs from the defaults").check()
    expect(page.locator(".settings-list dt")).to_have_text(["data_dir"])


@pytest.mark.slow
def test_a_safe_setting_is_changed_with_what_it_means(page: Page, server: PageServer) -> None:
    _look(page, server, "settings")
    page.get_by_role("button", name="Change monitoring.battery_percent").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("On a battery with less charge")
    expect(dialog.get_by_role("spinbutton")).to_be_focused()
    dialog.get_by_role("spinbutton").fill("120")
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    dialog.get_by_role("spinbutton").fill("12")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="counts from the next start")).to_be_visible()
    expect(page.locator(".settings-list .changed", has_text="battery_percent")).to_contain_text("12")
    page.get_by_role("button", name="Change monitoring.battery_percent").click()
    dialog.get_by_role("spinbutton").fill("")
    page.keyboard.press("Enter")
    expect(page.locator(".settings-list .changed", has_text="battery_percent")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("^Change "))).to_have_count(4)


@pytest.mark.parametrize("view", ["glance", *(pytest.param(view, marks=pytest.mark.slow) for view in _OTHER_VIEWS)])
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_checker_of_accessibility_finds_nothing(
    page: Page, server: PageServer, view: str, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    _look(page, server, view)
    if view == "neighbours":
        page.locator(".near a").first.click()
        expect(page.locator(".point").first).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.wait_for_function("document.querySelector('main').scrollWidth <= innerWidth")


@pytest.mark.slow
def test_the_dialogue_is_accessible_in_both_themes(page: Page, server: PageServer, place: Path) -> None:
    _look(page, server, "glance")
    page.get_by_role("button", name="Add a directory").click()
    page.keyboard.type(str(place / "more"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Index it")).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_nothing_moves_where_that_is_not_wanted(page: Page, server: PageServer) -> None:
    page.emulate_media(reduced_motion="reduce")
    _look(page, server, "glance")
    assert page.evaluate(_NOTHING_MOVES)
