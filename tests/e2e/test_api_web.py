"""Documents from the web: a server that really serves them, fetched by the server that is asked to."""

from __future__ import annotations

import gzip
import threading
from typing import TYPE_CHECKING

import pymupdf
import pytest
from web_servers import WebAnswer, WebServer, new_key
from website import Page, Website

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MENU = "<div class=menu><a href=/>Home</a> <a href=/imprint>Imprint</a></div>"
_BANNER = "<div class=cookies>We value your privacy and use cookies. Accept all</div>"
_TEXT = (
    "<h1>Herons</h1><p>The grey heron waits in the shallows for hours, until a fish comes near enough to be caught.</p>"
    "<h2>Nests</h2><p>Its nests of reeds and twigs stand high in old trees, often many of them side by side.</p>"
)
_EGRETS = _TEXT.replace("heron", "egret").replace("reeds and twigs", "moss and feathers")
_N_REMOTE = 4


def _page(main: str, text: str = _TEXT) -> bytes:
    around = f"{_MENU}{_BANNER}{main.format(text)}"
    return f"<html><head><title>Herons</title></head><body>{around}</body></html>".encode()


def _pdf() -> bytes:
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), "The bittern booms at dusk.")
        written: bytes = document.tobytes()
        return written


def _pages() -> dict[str, Page]:
    return {
        "/marked": (_page("<article>{}</article>"), {"Content-Type": "text/html", "ETag": '"v1"'}),
        "/plain": (_page("<div class=content>{}</div>", _EGRETS), {"Content-Type": "text/html; charset=utf-8"}),
        "/bittern.pdf": (_pdf(), {"Content-Type": "application/pdf"}),
        "/large": (b"word " * 2_200_000, {"Content-Type": "text/plain"}),
        "/bomb": (gzip.compress(bytes(60_000_000)), {"Content-Type": "text/plain", "Content-Encoding": "gzip"}),
        "/film": (b"...", {"Content-Type": "video/mp4"}),
        "/slow": (b"The patient egret.", {"Content-Type": "text/plain"}),
    }


class _Site:
    """A server that may fetch from that web and from no other port of this machine."""

    def __init__(self, place: Path, web: Website) -> None:
        data_dir = place / "data"
        self.key = new_key(data_dir, "admin", "--right", "admin")
        self.web = web
        self.server = WebServer(
            data_dir,
            DIRINDEX_SERVING__FETCH_URLS="true",
            DIRINDEX_FETCHING__ALLOWED=f"127.0.0.0/8:{web.port}",
        )
        assert self.ask("PUT", "collections/birds", {}).status == 201

    def ask(self, method: str, path: str, body: object = None) -> WebAnswer:
        return self.server.ask(method, f"/api/v1/{path}", body, key=self.key)

    def send(self, path: str, **more: object) -> WebAnswer:
        url = path if path.startswith("http") else self.web.url(path)
        return self.ask("POST", "ingest_url", {"url": url, "collection": "birds", **more})

    def text(self, doc_id: str) -> str:
        return str(self.ask("GET", f"documents/{doc_id}?collection=birds").json["text"])

    def doc_ids(self) -> set[str]:
        listed = self.ask("GET", "documents?collection=birds&limit=500").json["documents"]
        return {one["doc_id"] for one in listed}

    def found(self, query: str) -> list[str]:
        body = {"query": query, "mode": "keyword", "collection": "birds"}
        return [hit["filename"] for hit in self.ask("POST", "search", body).json["hits"]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Site]:
    web = Website(_pages())
    site = _Site(tmp_path_factory.mktemp("site"), web)
    yield site
    site.server.stop()
    web.stop()


@pytest.mark.parametrize(("path", "bird"), [("/marked", "heron"), ("/plain", "egret")])
def test_a_page_is_read_without_menus_and_banners_and_kept_as_it_was(site: _Site, path: str, bird: str) -> None:
    sent = site.send(path)
    assert sent.status == 201, sent.text
    document = sent.json["document"]
    assert (document["url"], document["media_type"]) == (site.web.url(path), "text/html")
    text = site.text(sent.json["doc_id"])
    assert f"The grey {bird} waits" in text
    assert "Nests" in text
    assert "Imprint" not in text
    assert "cookies" not in text
    assert site.found("imprint") == []
    assert site.found(bird) == [f"{path[1:]}.html"]
    original = site.ask("GET", f"documents/{sent.json['doc_id']}/original?collection=birds")
    assert original.text.encode() == site.web.pages[path][0]


@pytest.mark.slow
def test_a_page_is_read_alike_by_later_runs(site: _Site) -> None:
    doc_id = site.send("/plain").json["doc_id"]
    text = site.text(doc_id)
    rebuilt = site.ask("POST", "admin/rebuild", {"collection": "birds"}).json
    assert site.ask("GET", f"operations/{rebuilt['id']}?wait=50").json["state"] == "completed"
    assert site.text(doc_id) == text


def test_a_file_that_was_sent_as_it_is_keeps_its_lines(site: _Site) -> None:
    sent = site.server.ask(
        "PUT", "/api/v1/files/page.html?collection=birds", _page("\n\n<div class=content>{}</div>"), key=site.key
    )
    assert "Imprint" in site.text(sent.json["doc_id"])


def test_a_redirection_is_followed_to_a_pdf(site: _Site) -> None:
    sent = site.send("/to/bittern.pdf")
    assert (sent.status, sent.json["document"]["filename"]) == (201, "bittern.pdf")
    assert sent.json["document"]["metadata"] == {"final_url": site.web.url("/bittern.pdf")}
    assert site.found("bittern booms") == ["bittern.pdf"]


def test_what_has_not_changed_is_not_fetched_again(site: _Site) -> None:
    doc_id = site.send("/marked").json["doc_id"]
    again = site.ask("POST", f"documents/{doc_id}/refresh", {"collection": "birds"})
    assert (again.status, again.json["effect"]) == (200, "unchanged")
    page, headers = site.web.pages["/marked"]
    site.web.pages["/marked"] = (page.replace(b"grey heron", b"night heron"), {**headers, "ETag": '"v2"'})
    changed = site.ask("POST", f"documents/{doc_id}/refresh", {"collection": "birds"})
    assert changed.json["effect"] == "replaced"
    assert "night heron" in site.text(doc_id)


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/missing", 502, "answers 404"),
        ("/to/missing", 502, "answers 404"),
        ("/large", 413, "more than"),
        ("/bomb", 502, "more than 50 MB"),
        ("/film", 422, "not a document"),
        ("/to/to/to/to/to/to/marked", 502, "redirections"),
        ("http://127.0.0.1:1/", 422, "private network"),
        ("http://localhost:8/", 422, "private network"),
        ("http://[::1]/", 422, "private network"),
    ],
)
def test_what_cannot_be_fetched_says_why_and_leaves_nothing(site: _Site, path: str, status: int, told: str) -> None:
    before = site.doc_ids()
    answer = site.send(path)
    assert (answer.status, told in answer.json["detail"]) == (status, True), answer.text
    assert site.doc_ids() == before


def test_servers_that_take_their_time_hold_up_nobody_but_those_who_ask_them(site: _Site) -> None:
    """More fetches hang than there is room for; texts are taken and searches answered meanwhile."""
    answers: list[WebAnswer] = []
    threads = [
        threading.Thread(target=lambda path=path: answers.append(site.send(path)))
        for path in (f"/slow/{number}" for number in range(2 * _N_REMOTE))
    ]
    for thread in threads:
        thread.start()
    for _ in range(_N_REMOTE):
        assert site.web.n_hanging.acquire(timeout=60)
    sent = site.ask("POST", "ingest", {"text": "The quick sandpiper.", "collection": "birds"})
    assert sent.status == 201
    assert len(site.found("sandpiper")) == 1
    assert answers == []
    site.web.go_on.set()
    for thread in threads:
        thread.join(60)
    assert {answer.status for answer in answers} == {201}
