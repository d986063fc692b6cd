"""The page for somebody who begins: without an index, and what comes in by itself."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pymupdf
import pytest
from commands import DIRINDEX, run_command
from office_files import cells, xlsx
from page_browsers import CHROMIUM, admit, chromium, watched_page
from page_documents import photo, write_documents
from page_servers import PageServer
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Route

_QUERIES = (
    *(
        "lantern",
        "clockwork weight",
        "who holds the lantern",
        "spare lantern cellar",
        "vents blocked by salt",
        "litres",
    ),
    *("when is the lantern lit", "gulls nest", "visibility miles", "wind the clockwork", "paint the gallery", "dusk"),
    *("period seconds", "storm", "lens paste costs", "flickered wick", "horn fog", "harbour office", "sunset", "oil"),
)
_GERMAN = (
    "Die Wohnung kann mit einer Frist von drei Monaten zum Monatsende gekündigt werden, und die Kündigung bedarf der "
    "Schriftform, wie es im Vertrag steht. Der Mieter zahlt die Miete bis zum dritten Werktag."
)
_OUT_OF_SIGHT = """() => [...document.querySelectorAll('.hits > li')].filter((file) => {
  const marks = [...file.querySelectorAll('mark')];
  const isSeen = (mark) => {
    const { top, bottom, left, right } = mark.getBoundingClientRect();
    const around = (mark.closest('.excerpt, .heading, h3')).getBoundingClientRect();
    return top >= around.top - 1 && bottom <= around.bottom + 1 && left >= around.left - 1 && right <= around.right + 1;
  };
  return marks.length > 0 && [...file.querySelectorAll('.hit')].some((hit) => {
    const own = [...hit.querySelectorAll('mark'), ...file.querySelectorAll('h3 mark')];
    return own.length > 0 && !own.some(isSeen);
  });
}).map((file) => file.innerText)"""

_EXCERPT = """async (hit) => {
  const { excerptOf } = await import('./views/excerpt.js');
  return excerptOf({ line: 1, excerpt_start_line: 1, ...hit }).part.innerHTML;
}"""

_IS_SQUARE = """() => {
  const shown = document.querySelector('.sheet-page img');
  return shown && shown.naturalWidth === shown.naturalHeight;
}"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a directory with documents of each kind, and the data directory of its index."""
    place = tmp_path_factory.mktemp("papers")
    for name in ("docs", "app/docs"):
        (place / "papers" / name).mkdir(parents=True)
        (place / "papers" / name / "lens.md").write_text(f"# Lens in {name}\n\nThe lens of the lantern, in {name}.\n")
    write_documents(place / "papers")
    rows = [cells(1, A="Item", B="Room"), *(cells(n, A=f"device{n}", B=f"room {n}") for n in range(2, 20))]
    (place / "papers/stock.xlsx").write_bytes(xlsx({"Stock": "".join(rows)}))
    (place / "papers/copy of oil.md").write_text("# Oil\n\nThe lantern burns a litre an hour.\n")
    (place / "papers/IMG_2041.png").write_bytes(photo())
    (place / "papers/numbers.txt").write_text(" ".join(map(str, range(3700, 4000))))
    (place / "papers/cake.md").write_text("# Cake\n\n\u05e7\u05d5\u05dc\u05e4\u05d9\u05dd apples.\n")
    run_command([DIRINDEX, "index", place / "papers", "--quiet", "--data-dir", place / "data"])
    return place / "papers", place / "data"


@pytest.fixture(scope="module")
def server(papers: tuple[Path, Path]) -> Iterator[PageServer]:
    with PageServer(papers[1]) as server:
        yield server


@pytest.fixture(scope="module")
def admitted(server: PageServer, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return admit(server, browser, tmp_path_factory.mktemp("browser") / "state.json")


@pytest.fixture
def page(server: PageServer, admitted: Path) -> Iterator[Page]:
    with watched_page(server, admitted) as page:
        page.goto(f"{server.root}/ui/")
        expect(page.locator(".hit").first).to_be_visible()
        yield page


@contextmanager
def begun(server: PageServer, browser: Browser, place: Path) -> Iterator[Page]:
    """Open the page of a server."""
    with server, watched_page(server, admit(server, browser, place / "state.json")) as page:
        page.goto(f"{server.root}/ui/")
        yield page


def test_who_searches_without_an_index_is_led_to_adding_a_directory(browser: Browser, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "Documents").mkdir(parents=True)
    (home / "Documents/garden.md").write_text("# Garden\n\nCarrots grow in the garden.\n")
    with begun(PageServer(tmp_path / "data", HOME=str(home)), browser, tmp_path) as page:
        expect(page.locator(".stand")).to_have_text("Nothing is indexed yet")
        page.keyboard.type("carrots")
        expect(page.locator(".start [role=status]").first).to_contain_text("Add a directory, and hits for “carrots”")
        suggestion = page.get_by_role("button", name=re.compile("^Documents"))
        expect(suggestion).to_be_visible()
        page.keyboard.press("Enter")
        expect(suggestion).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("1 file")
        expect(page.get_by_role("dialog")).to_contain_text(".md 1")
        expect(page.locator("dialog .facts")).not_to_contain_text("Documents")  # which the field says
        page.get_by_role("button", name="Index it").click()
        expect(page.locator("#query")).to_be_focused()
        expect(page.locator(".hit mark").first).to_have_text("Carrots")
        expect(page.locator(".stand")).to_contain_text("1 file")


def test_tab_completes_the_path_of_a_directory_and_then_leads_on(page: Page, tmp_path: Path) -> None:
    for name in ("garden/carrots", "garden/cabbages"):
        (tmp_path / name).mkdir(parents=True)
    page.goto(f"{page.url}?view=glance")
    page.get_by_role("button", name="Add a directory").click()
    field, options = page.locator("#directory"), page.locator("dialog datalist option")
    field.fill(f"{tmp_path}/ga")
    expect(options).to_have_attribute("value", re.compile("/garden/?$"))
    page.keyboard.press("Tab")
    expect(field).to_have_value(f"{tmp_path}/garden/")
    expect(options).to_have_count(2)
    page.keyboard.press("Tab")
    expect(field).to_have_value(f"{tmp_path}/garden/ca")
    expect(field).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("dialog").locator("button[type=submit]")).to_be_focused()


@pytest.mark.slow
def test_what_a_file_says_since_a_moment_ago_comes_in_by_itself(
    server: PageServer, browser: Browser, admitted: Path, papers: tuple[Path, Path]
) -> None:
    page = browser.new_page(storage_state=admitted)  # browsers note in the console what is gone when they ask for it
    page.goto(f"{server.root}/ui/")
    page.locator("#query").fill("qwertzuiop")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    mark = page.locator(".hit mark", has_text="qwertzuiop")
    expect(mark).to_have_count(0)
    (papers[0] / "news.md").write_text("# News\n\nThe word is qwertzuiop.\n")
    expect(mark).to_have_count(1)
    (papers[0] / "news.md").write_text(f"# News\n\nThe word is qwertzuiop.\n{'More news. ' * 2000}\n")
    expect(page.locator(".document")).to_contain_text("More news")
    page.locator(".document").evaluate("(document) => (document.scrollTop = 200)")
    (papers[0] / "news.md").write_text(f"# News\n\nThe word is qwertzuiop.\n{'Older news. ' * 2000}\n")
    expect(page.locator(".document")).to_contain_text("Older news")
    assert page.locator(".document").evaluate("(document) => document.scrollTop") == 200
    (papers[0] / "news.md").unlink()
    expect(mark).to_have_count(0)
    page.context.close()


@pytest.fixture
def changing(server: PageServer, browser: Browser, admitted: Path) -> Iterator[Page]:
    """Return a page that may ask for what is gone, which browsers note in the console."""
    page = browser.new_page(storage_state=admitted)
    page.goto(f"{server.root}/ui/")
    expect(page.locator(".hit").first).to_be_visible()
    yield page
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("n_between", [3, 3000], ids=["in the part that is shown", "in a later part"])
def test_a_preview_stays_at_the_match_that_was_stepped_to(
    changing: Page, papers: tuple[Path, Path], n_between: int
) -> None:
    text = ("The word is asdfghjkl.\n" + "More of it.\n" * n_between) * 3
    (papers[0] / "steps.txt").write_text(text)
    changing.locator("#query").fill("asdfghjkl")
    counter = changing.locator(".counter")
    expect(counter).to_have_text(re.compile("^[12] of 3$"))
    after = f"{int(counter.inner_text()[0]) + 1} of 3"
    changing.get_by_role("button", name="Next match").click()
    expect(counter).to_have_text(after)
    current = changing.locator(".document mark.current")
    line = current.evaluate("(mark) => mark.closest('[data-line]').dataset.line")
    (papers[0] / "steps.txt").write_text(text.replace("More of it.", "Less of it."))
    expect(changing.locator(".document")).to_contain_text("Less of it")
    expect(counter).to_have_text(after)
    assert current.evaluate("(mark) => mark.closest('[data-line]').dataset.line") == line
    (papers[0] / "steps.txt").unlink()


@pytest.mark.slow
def test_a_document_that_was_deleted_is_shown_no_more(changing: Page, papers: tuple[Path, Path]) -> None:
    (papers[0] / "brief.md").write_text("# Brief\n\nThe word is yxcvbnm.\n")
    changing.locator("#query").fill("yxcvbnm")
    expect(changing.locator(".document")).to_contain_text("yxcvbnm")
    (papers[0] / "brief.md").unlink()
    expect(changing.locator(".hit mark", has_text="yxcvbnm")).to_have_count(0)
    expect(changing.locator(".document")).not_to_contain_text("yxcvbnm")


@pytest.mark.slow
def test_a_photo_that_was_replaced_is_shown_anew(changing: Page, papers: tuple[Path, Path]) -> None:
    (papers[0] / "harbour_view.png").write_bytes(photo())
    changing.locator("#query").fill("harbour_view.png")
    picture = changing.locator(".sheet-page img")
    expect(picture).to_be_visible()
    assert picture.evaluate("(one) => one.naturalWidth > one.naturalHeight")
    square = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 200, 200))
    square.clear_with(200)
    (papers[0] / "harbour_view.png").write_bytes(square.tobytes("png"))
    changing.wait_for_function(_IS_SQUARE)
    (papers[0] / "harbour_view.png").unlink()


@pytest.mark.slow
def test_what_matched_is_in_view_in_every_hit(page: Page) -> None:
    n_hits = 0
    for query in _QUERIES:
        page.goto(f"{page.url.partition('?')[0]}?q={query.replace(' ', '+')}")
        expect(page.locator(".how")).to_contain_text("by words and meaning")
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(_OUT_OF_SIGHT) == [], query
        n_hits += page.locator(".hit:has(mark)").count()
    assert n_hits > 2 * len(_QUERIES)


@pytest.mark.slow
def test_a_message_shows_its_sentence_and_prose_is_no_code(page: Page) -> None:
    page.locator("#query").fill("vents blocked by salt")
    message = page.locator(".hits > li", has=page.locator(".icon-mail")).first
    expect(message.locator(".excerpt").first).to_contain_text(re.compile("^the lantern came through the storm"))
    expect(message.locator(".excerpt").first).not_to_contain_text("From:")
    expect(message.locator(".directory")).to_have_text("Anna Berg")
    page.locator("#query").fill("lantern path:tower.py")
    expect(page.locator(".excerpt.as-code").first).to_be_visible()


@pytest.mark.slow
def test_rows_of_tables_are_shown_without_their_signs(page: Page) -> None:
    page.locator("#query").fill("clean lens path:tasks.xlsx")
    excerpt = page.locator(".excerpt.as-rows").first
    expect(excerpt).to_contain_text("Clean the lens · Omar · 2\nFill the lamp oil · Anna · 1")
    expect(page.locator(".hit .line").first).to_have_text("row 2, A2")
    page.locator("#query").fill("fog steady path:handbook.md")
    expect(page.locator(".excerpt.as-rows mark").first).to_be_visible()
    for text in page.locator(".excerpt").all_inner_texts():
        assert "|" not in text
        assert "---" not in text


def test_rows_of_a_csv_file_are_shown_as_those_of_a_sheet(page: Page) -> None:
    rows = 'Name;Ort;Betrag\nMüller;"Bonn; ""Süd""";12,50\n😀nna;;7,00'
    marks = [[rows.index("Bonn"), rows.index("Bonn") + 4], [rows.index("😀"), rows.index("😀") + 4]]
    assert page.evaluate(_EXCERPT, {"kind": "csv", "excerpt": rows, "marks": marks}) == (
        'Name · Ort · Betrag\nMüller · <mark>Bonn</mark>; "Süd" · 12,50\n<mark>😀nna</mark> · 7,00'
    )


def test_a_link_is_shown_by_its_text(page: Page) -> None:
    page.locator("#query").fill("code of the tower almanac")
    excerpt = page.locator(".excerpt", has_text="See the code")
    expect(excerpt.first).to_contain_text("See the code of the tower, the almanac and a drawing.")
    expect(excerpt.first.locator("mark").first).to_have_text("code")


def test_the_first_hit_is_shown_without_a_key(page: Page) -> None:
    page.locator("#query").fill("gulls nest")
    expect(page.locator(".preview h2")).to_have_text("The inspection of the lantern")
    expect(page.locator(".hit").first).to_have_attribute("aria-current", "true")
    assert "doc=" not in page.url


@pytest.mark.slow
def test_a_hit_in_a_sheet_names_its_row_and_cell(page: Page) -> None:
    page.locator("#query").fill("device17")
    expect(page.locator(".hit .line").first).to_have_text("row 17, A17")


@pytest.mark.slow
def test_a_spreadsheet_is_called_as_its_file_and_not_as_its_first_sheet(page: Page) -> None:
    page.locator("#query").fill("lantern path:tasks.xlsx")
    expect(page.locator(".preview h2")).to_have_text("tasks.xlsx")


def test_slides_are_counted_as_slides(page: Page) -> None:
    page.locator("#query").fill("lantern path:evening.pptx")
    expect(page.locator(".hit .line").first).to_have_text("slides 1–3")  # noqa: RUF001 - a range
    expect(page.locator(".preview .facts")).to_contain_text("3 slides")


def test_neighbours_name_slides_and_leave_out_the_only_page_of_a_picture(page: Page) -> None:
    page.locator("#query").fill("lantern path:handbook.md")
    page.get_by_role("button", name="Neighbours").click()
    places = page.locator(".near li").filter(has=page.get_by_role("link", name="evening.pptx")).locator("p.soft")
    expect(places.first).to_contain_text("slide 1")
    expect(page.locator(".near li").filter(has=page.get_by_role("link", name="dusk.png"))).not_to_contain_text("page")


@pytest.mark.slow
def test_similar_files_come_below_a_document_and_not_while_somebody_types(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/similar?limit=4") else None)
    page.locator("#query").fill("the lens of the lantern in app")
    similar = page.get_by_role("region", name="Similar files").get_by_role("button")
    expect(similar.first).to_have_text("lens.md")
    n_asked = len(asked)
    page.locator("#query").press_sequentially(" docs handbook inspection")
    assert len(asked) == n_asked
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    similar.first.click()
    expect(page.locator(".head .path")).to_contain_text("lens.md")


@pytest.mark.slow
def test_several_values_of_a_filter_widen_it(page: Page) -> None:
    page.locator("#query").fill("lantern")
    types = page.get_by_role("list", name="Type")
    types.get_by_role("button", name=re.compile("^pdf")).click()
    types.get_by_role("button", name=re.compile("^text")).click()
    expect(page.locator(".file h3", has_text="watch.txt").first).to_be_visible()
    expect(page.locator(".file h3", has_text="inspection.pdf").first).to_be_visible()
    expect(page.locator(".file h3", has_text="handbook.md")).to_have_count(0)
    page.get_by_role("button", name="Clear filters").click()
    places = page.get_by_role("list", name="Directory")
    for name in ("docs", "app"):
        places.get_by_role("button").filter(has_text=re.compile(f"^{name}")).click()
    expect(page.locator(".file h3")).to_have_text(["lens.md", "lens.md"])


@pytest.mark.slow
def test_searches_are_kept_and_found_again(page: Page) -> None:
    page.locator("#query").fill("gulls nest")
    page.get_by_role("button", name="Save search").click()
    expect(page.get_by_role("button", name="Saved")).to_have_attribute("aria-pressed", "true")
    page.locator("#query").fill("spare lantern")
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_be_focused()
    page.locator("#query").fill("")
    expect(page.get_by_role("navigation", name="Recent searches").get_by_role("link")).to_have_text(["spare lantern"])
    page.get_by_role("navigation", name="Saved searches").get_by_role("link", name="gulls nest").click()
    expect(page.locator("#query")).to_have_value("gulls nest")
    page.locator("#query").fill("")
    page.get_by_role("button", name="Forget recent searches").click()
    expect(page.get_by_role("navigation", name="Recent searches")).to_have_count(0)
    page.get_by_role("button", name="Remove gulls nest").click()
    expect(page.get_by_role("navigation", name="Saved searches")).to_have_count(0)


@pytest.mark.slow
def test_further_matches_in_a_file_are_shown_by_a_search_in_it(page: Page) -> None:
    page.route("**/api/v1/search", _say_there_are_more)
    page.locator("#query").fill("gulls nest")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    more = page.get_by_role("button", name="8 more matches in this file").first
    path = page.locator(".hits h3").first.get_attribute("title") or ""
    more.press("Enter")
    expect(page.get_by_role("button", name=f"Remove the filter Directory {path}")).to_be_visible()
    assert set(page.locator(".hits h3").evaluate_all("(names) => names.map((name) => name.title)")) == {path}


def _say_there_are_more(route: Route) -> None:
    answer = route.fetch().json()
    route.fulfill(json={**answer, "hits": [{**hit, "more_in_file": 8} for hit in answer["hits"]]})


@pytest.mark.slow
def test_copies_are_named_when_somebody_asks(page: Page) -> None:
    page.locator("#query").fill("burns a litre an hour")
    copies = page.locator(".also-in").first
    copies.locator("summary").click()
    expect(copies.locator("li")).to_have_text(re.compile("oil.md$"))


@pytest.mark.slow
def test_a_copy_that_is_found_by_its_name_is_listed_once(page: Page) -> None:
    page.locator("#query").fill("oil.md")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    expect(page.locator(".named h3[title$='/notes/oil.md']")).to_have_count(1)
    expect(page.locator(".named h3[title$='/copy of oil.md']")).to_have_count(1)
    listed = page.locator(".hits h3").evaluate_all("(names) => names.map((name) => name.title)")
    assert not {*listed} & {*page.locator(".also-in li").all_text_contents()}


def test_a_hit_by_its_name_alone_is_opened_at_its_name(page: Page) -> None:
    page.locator("#query").fill("watch.txt")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    hit = page.locator(".named .hit.name-alone").first
    expect(hit).to_be_visible()
    box = page.locator(".named h3").first.bounding_box()
    assert box
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    expect(hit).to_have_attribute("aria-current", "true")
    expect(page.locator(".preview h2")).to_have_text("watch.txt")


def test_a_photo_without_camera_data_is_shown(page: Page) -> None:
    page.locator("#query").fill("IMG_2041")
    expect(page.locator(".preview .sheet-page img")).to_be_visible()
    expect(page.locator(".preview h2")).to_have_text("IMG_2041.png")
    expect(page.locator(".named li").first).to_contain_text("A picture without text or camera data")
    expect(page.locator(".named .hit.name-alone").first).to_have_attribute("aria-current", "true")
    expect(page.locator(".preview .steps")).to_have_count(0)


def test_a_match_in_a_line_that_is_longer_than_the_preview_is_in_view(page: Page) -> None:
    page.locator("#query").fill("3990 path:numbers.txt")
    expect(page.locator(".preview mark.current")).to_have_text("3990")
    expect(page.locator(".preview mark.current")).to_be_in_viewport()


def test_text_begins_on_the_side_where_its_script_does(page: Page) -> None:
    page.locator("#query").fill("apples path:cake.md")
    expect(page.locator(".how")).to_contain_text("by words and meaning")
    # Measured at once and again, since the list is drawn anew when hits by meaning come.
    page.wait_for_function("""() => [".preview .prose p", ".hit .excerpt"].every(selector => {
        const text = document.querySelector(selector), mark = text?.querySelector("mark")
        if (!mark) return false
        const outer = text.getBoundingClientRect(), inner = mark.getBoundingClientRect()
        return inner.x > outer.x + outer.width / 2
    })""")


@pytest.mark.slow
def test_keys_lead_to_the_field_and_are_explained(page: Page) -> None:
    page.locator(".hit").first.focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Ctrl+K")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.locator("#query")).to_be_focused()


@pytest.mark.slow
def test_languages_that_the_model_does_not_understand_are_named_once(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(5):
        (tmp_path / f"docs/brief-{number}.md").write_text(f"# Brief {number}\n\n{_GERMAN}\n")
    run_command([DIRINDEX, "index", tmp_path / "docs", "--quiet", "--data-dir", tmp_path / "data"])
    with begun(PageServer(tmp_path / "data"), browser, tmp_path) as page:
        note = page.get_by_role("note")
        expect(note).to_contain_text("Hardly found by meaning: German; see dirindex doctor")
        assert note.evaluate("(one) => one.clientHeight < 3 * parseFloat(getComputedStyle(one).lineHeight)")  # a line
        note.get_by_role("button", name="Got it").click()
        expect(note).to_be_hidden()
        page.reload()
        expect(page.locator(".hit").first).to_be_visible()
        expect(note).to_be_hidden()
