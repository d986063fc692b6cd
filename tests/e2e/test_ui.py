"""The server of the page, without a browser: who is let in, what the page consists of, and what it may do."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pymupdf
import pytest
from commands import DIRINDEX, run_command
from page_servers import Admitted, PageServer
from teams import SECRET
from web_servers import WebAnswer, WebServer, new_key

from directory_indexer.formats.kinds import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKUP_OR_CODE = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|Function\("
_LINKS = """Links: [note](../note.md) [part](../%6eote.md#garden) [own](#top) [gone](gone.md)
[system](../../../../../../../../etc/passwd) [inside](../all.zip!/links.md) [data](../../data/index.db)
"""
_STATIC = files("directory_indexer.server.ui") / "static"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    (place / "docs/note.md").write_text("# Garden\n\nCarrots grow in the garden.\n")
    (place / "docs/older.md").write_text("---\ndate: 2020-05-01\n---\n# Carrots\n\nCarrots and carrots and carrots.\n")
    (place / "docs/sub").mkdir()
    (place / "docs/sub/links.md").write_text(_LINKS)
    with zipfile.ZipFile(place / "docs/all.zip", "w") as archive:
        archive.writestr("links.md", "Links.\n")
        archive.writestr("deep/links.md", "Links: [beside](../links.md) [outside](../../note.md)\n")
    told = f"Beetroot soup and turnips, and all else about the kitchen.\nThe door: password = {SECRET}"
    for name, text in (("beets.pdf", "Beetroot soup"), ("radish.pdf", "Radish"), ("secret.pdf", told)):
        document = pymupdf.open()
        document.new_page().insert_text((72, 90), text)
        (place / "docs" / name).write_bytes(document.tobytes())
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command)
    return place / "data"


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[PageServer]:
    with PageServer(data_dir) as server:
        yield server


@pytest.fixture(scope="module")
def browser(server: PageServer) -> Admitted:
    return server.admit()


def test_a_browser_that_used_the_code_may_search(server: PageServer, browser: Admitted) -> None:
    answer = server.search_as(browser, "carrots")
    assert answer.status == 200
    assert len(answer.json["hits"]) == 2


def test_the_code_is_used_up(server: PageServer, browser: Admitted) -> None:
    assert browser.token
    again = server.exchange(server.code)
    assert (again.status, again.json["error"]) == (401, "unauthorized")
    assert "Set-Cookie" not in again.headers


@pytest.mark.parametrize("code", ["", None, 7, ["x"], {}, "wrong"])
def test_what_is_no_code_is_refused(server: PageServer, code: object) -> None:
    assert server.exchange(code).status == 401


def test_the_cookie_is_for_this_page_alone(data_dir: Path) -> None:
    with PageServer(data_dir) as server:
        cookie = server.exchange(server.code).headers["Set-Cookie"]
    assert cookie.startswith(f"dirindex-{server.port}=")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")


def test_nobody_else_may_search(server: PageServer, browser: Admitted) -> None:
    assert server.search("carrots").status == 401
    assert server.search_as(browser, "carrots", Cookie="").status == 401
    assert server.search_as(browser, "carrots", X_Dirindex_Page="").status == 401
    assert server.search_as(browser, "carrots", X_Dirindex_Page="wrong").status == 401
    assert server.search_as(browser, "carrots", Sec_Fetch_Site="same-site").status == 401
    assert server.search_as(browser, "carrots", Origin="http://evil.example").status == 403
    assert server.search_as(browser, "carrots", Host="evil.example").status == 421
    assert server.exchange("any", Origin="http://evil.example").status == 403
    assert server.exchange("any", Sec_Fetch_Site="cross-site").status == 403


def test_hits_are_sorted_by_date_where_that_is_asked_for(server: PageServer, browser: Admitted) -> None:
    def names(**given: str) -> list[str]:
        body = {"query": "carrots", "mode": "keyword", "all": True, **given}
        answer = server.ask("POST", "/api/v1/search", body, headers=browser.headers)
        return [hit["filename"] for hit in answer.json["hits"]]

    assert names() == ["older.md", "note.md"]
    assert names(sort="date") == ["note.md", "older.md"]
    assert names(sort="path") == ["note.md", "older.md"]


def test_files_are_opened_for_the_page_alone_and_once_it_was_allowed(server: PageServer, browser: Admitted) -> None:
    [hit, *_] = server.search_as(browser, "carrots").json["hits"]
    wanted = {"doc_id": hit["doc_id"], "how": "program", "line": 1, "page": 0}
    assert server.ask("POST", "/ui/open", wanted).status == 401
    assert (
        server.ask("POST", "/ui/open", wanted, headers={**browser.headers, "Sec-Fetch-Site": "same-site"}).status == 401
    )
    nobody_vouches = {name: value for name, value in browser.headers.items() if name != "Sec-Fetch-Site"}
    assert server.ask("POST", "/ui/open", wanted, headers=nobody_vouches).status == 401
    assert server.ask("POST", "/ui/open", wanted, headers=browser.headers).json == {"is_allowed": False}
    assert server.ask("GET", "/ui/open", headers=browser.headers).status == 405
    for wrong in ({"how": "shell"}, {"doc_id": 7}, {"line": "1"}, {"page": None}):
        assert server.ask("POST", "/ui/open", {**wanted, **wrong}, headers=browser.headers).status == 422
    unknown = {**wanted, "doc_id": "a" * 24, "allow": True}
    assert server.ask("POST", "/ui/open", unknown, headers=browser.headers).status == 404


def test_pages_are_drawn_where_there_are_some_and_nothing_in_them_is_secret(
    server: PageServer, browser: Admitted
) -> None:
    body = {"query": "beetroot carrots", "mode": "keyword", "all": True}
    hits = server.ask("POST", "/api/v1/search", body, headers=browser.headers).json["hits"]
    ids = {hit["filename"]: hit["doc_id"] for hit in hits}

    def ask(name: str, what: str) -> WebAnswer:
        return server.ask("GET", f"/api/v1/documents/{ids[name]}/{what}", headers=browser.headers)

    drawn = ask("beets.pdf", "page?page=1&query=soup")
    assert drawn.status == 200
    assert base64.b64decode(drawn.json["picture"]).startswith(b"\x89PNG")
    assert (drawn.json["pages"], len(drawn.json["marked"])) == (1, 1)
    assert ask("beets.pdf", "page?page=2").status == 422
    assert ask("note.md", "page?page=1").status == 422
    assert ask("beets.pdf", "preview").json["is_drawn"]
    told = ask("secret.pdf", "preview").json
    assert (told["is_drawn"], told["masked"]) == (False, 1)
    assert SECRET not in told["text"]
    assert ask("secret.pdf", "page?page=1").status == 422


def test_links_of_markdown_lead_to_indexed_files_alone(server: PageServer, browser: Admitted) -> None:
    body = {"query": "links", "mode": "keyword", "all": True}
    hits = server.ask("POST", "/api/v1/search", body, headers=browser.headers).json["hits"]
    ids = {hit["path"].rpartition("docs/")[2]: hit["doc_id"] for hit in hits}
    note = server.search_as(browser, "carrots grow").json["hits"][0]["doc_id"]

    def links(path: str) -> dict[str, tuple[str, str]]:
        told = server.ask("GET", f"/api/v1/documents/{ids[path]}/preview", headers=browser.headers).json
        parts = [part for one in told["elements"] for part in one["children"] if part["tag"] == "link"]
        return {part["children"][0]["text"]: (part["doc_id"], part["heading"]) for part in parts}

    assert links("sub/links.md") == {
        "note": (note, ""),
        "part": (note, "garden"),
        "own": (ids["sub/links.md"], "top"),
        "gone": ("", ""),
        "system": ("", ""),
        "inside": ("", ""),
        "data": ("", ""),
    }
    assert links("all.zip!/deep/links.md") == {
        "beside": (ids["all.zip!/links.md"], ""),
        "outside": ("", ""),
    }


def test_a_document_that_has_changed_is_not_drawn_before_secrets_were_looked_for(
    server: PageServer, browser: Admitted, data_dir: Path
) -> None:
    body = {"query": "radish", "mode": "keyword"}
    [hit] = server.ask("POST", "/api/v1/search", body, headers=browser.headers).json["hits"]
    place = f"/api/v1/documents/{hit['doc_id']}"
    assert server.ask("GET", f"{place}/page?page=1", headers=browser.headers).status == 200
    shutil.copy(data_dir.parent / "docs/secret.pdf", data_dir.parent / "docs/radish.pdf")
    assert server.ask("GET", f"{place}/page?page=1", headers=browser.headers).status == 422
    assert not server.ask("GET", f"{place}/preview", headers=browser.headers).json["is_drawn"]


def test_every_file_of_the_page_says_what_it_may_do(server: PageServer) -> None:
    page = server.ask("GET", "/ui/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
    assert "unsafe" not in policy
    names = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert {"main.js", "styles.css"} <= set(names)
    for name in names:
        found = server.ask("GET", f"/ui/{name}")
        assert found.status == 200, name
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Referrer-Policy"] == "no-referrer"
        assert found.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert server.ask("GET", f"/ui/{name}", headers={"If-None-Match": found.headers["ETag"]}).status == 304


def test_modules_import_only_what_is_there(server: PageServer) -> None:
    seen, waiting = set(), ["main.js"]
    while waiting:
        name = waiting.pop()
        found = server.ask("GET", f"/ui/{name}")
        assert found.status == 200, name
        assert found.headers["Content-Type"] == "text/javascript; charset=utf-8"
        directory = name.rpartition("/")[0]
        for imported in re.findall(r'from "([^"]+)"', found.text):
            path = _joined(directory, imported)
            if path not in seen:
                seen.add(path)
                waiting.append(path)
    assert "views/search.js" in seen


def test_no_module_makes_markup_of_texts_or_asks_another_server() -> None:
    modules = [one for one in Path(str(_STATIC)).rglob("*") if one.suffix in {".js", ".css", ".html"}]
    assert {"main.js", "search.js", "styles.css", "index.html"} <= {one.name for one in modules}
    for module in modules:
        text = module.read_text(encoding="utf-8")
        assert not re.search(_MARKUP_OR_CODE, text), module.name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), module.name


@pytest.mark.parametrize(
    "path", ["/ui/../application.py", "/ui/%2e%2e/assets.py", "/ui/static/main.js", "/ui/views", "/ui/x"]
)
def test_nothing_else_is_given_out(server: PageServer, path: str) -> None:
    assert server.ask("GET", f"/ui/{path}").status == 404


def test_the_page_is_read_and_the_code_posted(server: PageServer) -> None:
    assert server.ask("POST", "/ui/", {}).status == 405
    assert server.ask("GET", "/ui/session").status == 405
    assert server.ask("PUT", "/ui/main.js", {}).status == 405
    assert server.ask("POST", "/ui/session", b"x" * 5000).status == 413


def test_a_plain_server_has_no_page(data_dir: Path) -> None:
    key = new_key(data_dir, "someone")
    with WebServer(data_dir) as server:
        assert server.ask("GET", "/ui/", key=key).status == 404
        assert server.ask("POST", "/ui/session", {"code": "x"}, key=key).status == 404


def test_every_kind_of_document_has_a_sign_and_is_read_as_prose() -> None:
    table = (_STATIC / "kinds.js").read_text(encoding="utf-8")
    listed = set(re.findall(r"\w+", table))
    for group in ("docs", "media", "archives"):
        assert GROUPS[group] - listed == set(), group


def test_without_an_index_it_begins_an_empty_one(tmp_path: Path) -> None:
    with PageServer(tmp_path / "data") as server:
        browser = server.admit()
        answer = server.ask("GET", "/api/v1/changes", headers=browser.headers)
        assert (answer.json["directories"], answer.json["files"], answer.json["run"]) == (0, 0, None)
        assert (tmp_path / "data").stat().st_mode & 0o077 == 0


def test_the_code_comes_into_no_log(data_dir: Path) -> None:
    with PageServer(data_dir, "--verbose") as server:
        admitted = server.admit()
        assert server.search_as(admitted, "carrots").status == 200
        logged = server.log()
    assert logged.count(server.code) == 1  # where the person is told the address
    assert admitted.token not in logged
    assert "carrots" not in json.dumps(logged)


def _joined(directory: str, imported: str) -> str:
    parts = directory.split("/") if directory else []
    for part in imported.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
