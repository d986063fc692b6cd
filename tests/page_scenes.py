"""Every view of the page, every form of a document and every dialogue: how one comes there, and when it is there."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commands import DIRINDEX, run_command
from page_documents import write_documents, write_what_is_left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
_ASKED = "**/api/**"
_INDEXED_SECONDS = 400


class Scene(NamedTuple):
    """A view: its address, what is done there, and what stands there then."""

    query: str
    shown: str
    act: Callable[[Page], None] = lambda _: None
    of_nothing: bool = False
    """Whether it is a view of an index of nothing."""


@contextmanager
def indexed(place: Path) -> Iterator[tuple[Path, Path]]:
    """Index documents of each kind, docs and scripts; give that index, and one of nothing."""
    papers = place / "papers"
    papers.mkdir()
    write_documents(papers)
    write_what_is_left_out(papers)
    index_quietly(papers, ROOT / "docs", ROOT / "contrib", data_dir=place / "index")
    nothing = place / "nothing"
    nothing.mkdir()
    index_quietly(nothing, data_dir=place / "empty")
    _run("forget", nothing, data_dir=place / "empty")
    yield place / "index", place / "empty"


def index_quietly(*paths: Path, data_dir: Path) -> None:
    """Index directories, whatever cannot be read in them."""
    _run("index", *paths, data_dir=data_dir)


def _run(verb: str, *paths: Path, data_dir: Path) -> None:
    command: list[str | Path] = [DIRINDEX, verb, *paths, "--quiet", "--data-dir", data_dir]
    # One of the files cannot be read, and a busy machine takes minutes.
    run_command(command, check=False, env=dict(os.environ), timeout=_INDEXED_SECONDS)


def go_there(page: Page, root: str, scene: Scene) -> None:
    """Come to a view."""
    page.unroute_all()
    page.goto(f"{root}/ui/{scene.query}")
    page.locator("main > *:visible").first.wait_for()
    scene.act(page)
    page.locator(scene.shown).first.wait_for()
    page.locator("main:not(:has([aria-busy=true]))").wait_for()


def _choose(selector: str) -> Callable[[Page], None]:
    return lambda page: page.locator(selector).first.click()


def _press(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=name).first.click()


def _file(name: str) -> Callable[[Page], None]:
    """Open the first hit in a file."""

    def act(page: Page) -> None:
        file = page.locator(".hits > li").filter(has=page.get_by_role("heading", name=name, exact=True))
        file.locator(".hit").first.click()

    return act


def _then(*acts: Callable[[Page], None]) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        for one in acts:
            one(page)

    return act


def _type(text: str) -> Callable[[Page], None]:
    return lambda page: page.keyboard.type(text)


def _look_at_adding(page: Page) -> None:
    _press("Add a directory")(page)
    page.keyboard.type(str(ROOT / "packaging"))
    page.keyboard.press("Enter")


def _open_filters(page: Page) -> None:
    if page.locator(".facets summary").is_visible():
        page.locator(".facets summary").click()


def _lose_the_server(page: Page) -> None:
    page.locator(".hit").first.wait_for()
    page.route(_ASKED, lambda route: route.abort("connectionrefused"))
    page.locator("#query").fill("is anybody there")


SCENES = {
    "start": Scene("", ".hit"),
    "search": Scene("?q=how+are+hits+ranked", ".preview .wanted", _choose(".hit")),
    "facets": Scene("?q=lantern&type=pdf", ".facets [aria-pressed=true]", _open_filters),
    "completion": Scene("", "[role=option]", _type("lantern type:")),
    "weak": Scene("?q=broken+gondolas+above+the+glacier", ".missing .causes li"),
    "text": Scene("?q=lantern+path:watch.txt", ".row.wanted", _choose(".hit")),
    "code": Scene("?q=lantern+path:tower.py", ".row .code-keyword", _choose(".hit")),
    "markdown": Scene("?q=lantern+path:handbook.md", ".prose table", _choose(".hit")),
    "pdf": Scene("?q=lantern+clockwork+path:inspection.pdf", ".sheet-page .spot", _file("inspection.pdf")),
    "scan": Scene("?q=spare+lantern+path:letter.pdf", ".sheet-page .spot", _choose(".hit")),
    "picture": Scene("?q=lantern+path:dusk.png", ".sheet-page img", _choose(".hit")),
    "sheet": Scene("?q=lantern+path:tasks.xlsx", ".tables td mark", _choose(".hit")),
    "slides": Scene("?q=lantern+path:evening.pptx", ".slides mark", _choose(".hit")),
    "message": Scene("?q=lantern+storm+type:email", ".headers dd", _file("The lantern after the storm")),
    "member": Scene("?q=lantern+path:papers.zip", ".relations button", _file("oil.md")),
    "similar": Scene("?q=lantern+path:handbook.md", ".similar li", _choose(".hit")),
    "allow": Scene("?q=how+are+hits+ranked", "dialog[open]", _then(_choose(".hit"), _press("Show in folder"))),
    "index": Scene("?view=glance", ".tile"),
    "age": Scene(
        "?view=glance", ".tile.heat-4, .tile.heat-3", lambda page: page.get_by_role("radio", name="Age").check()
    ),
    "failed": Scene("?view=glance&reason=failed", ".left-out .why"),
    "rules": Scene("?view=glance&reason=ignored", ".left-out .why"),
    "runs": Scene("?view=glance", ".runs li", lambda page: page.locator(".runs li").first.scroll_into_view_if_needed()),
    "add": Scene("?view=glance", "dialog .facts", _look_at_adding),
    "forget": Scene("?view=glance", "dialog .grave", _press("Forget")),
    "offer": Scene("?view=neighbours", ".near a"),
    "neighbours": Scene("?view=neighbours", ".point", _choose(".near a")),
    "topics": Scene(
        "?view=neighbours",
        ".groups-legend li",
        _then(_choose(".near a"), lambda page: page.get_by_role("radio", name="Topic").check()),
    ),
    "setting": Scene("?view=settings", "dialog textarea", _press("Change indexing.ignore_patterns")),
    "settings": Scene("?view=settings", ".settings-list"),
    "empty": Scene("", ".welcome .suggestion", of_nothing=True),
    "empty-add": Scene("", "dialog .facts", _choose(".welcome .suggestion"), of_nothing=True),
    "empty-index": Scene("?view=glance", ".figures dd", of_nothing=True),
    "keys": Scene("", ".key-list", lambda page: page.locator("nav a").first.press("?")),
    "gone": Scene("?q=lantern", ".state .problem", _lose_the_server),
}
