"""What the person at the page may do with the index, and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, run_command
from page_servers import Admitted, PageServer
from web_servers import new_key

from directory_indexer.server.rest import Router
from directory_indexer.server.rest.operation_table import OPERATIONS, PAGE_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from web_servers import WebAnswer

    from directory_indexer.server.rest import HttpOperation

_OWN = [one for one in PAGE_OPERATIONS if one not in OPERATIONS]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    for name in ("docs", "more", "docs/sub"):
        (place / name).mkdir()
    (place / "docs/note.md").write_text("# Garden\n\nCarrots grow in the garden.\n")
    (place / "docs/sub/soup.md").write_text("# Soup\n\nBoil the carrots.\n")
    (place / "docs/empty.md").write_text("")
    (place / "docs/.gitignore").write_text("*.log\n")
    (place / "docs/run.log").write_text("started\n")
    (place / "more/boats.md").write_text("# Boats\n\nThey lie in the harbour.\n")
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command)
    return place


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[PageServer]:
    with PageServer(place / "data") as server:
        yield server


@pytest.fixture(scope="module")
def browser(server: PageServer) -> Admitted:
    return server.admit()


def _body(operation: HttpOperation) -> dict[str, str] | None:
    return {} if operation.has_json_body else None


class Person:
    """Somebody at the page."""

    def __init__(self, server: PageServer, browser: Admitted) -> None:
        self._server = server
        self._headers = browser.headers

    def get(self, path: str) -> WebAnswer:
        return self._server.ask("GET", f"/api/v1/{path}", headers=self._headers)

    def post(self, path: str, /, **given: object) -> WebAnswer:
        return self._server.ask("POST", f"/api/v1/{path}", given, headers=self._headers)

    def ended(self, operation_id: str) -> str:
        return str(self.get(f"operations/{operation_id}?wait=50").json["state"])


@pytest.fixture
def person(server: PageServer, browser: Admitted) -> Person:
    return Person(server, browser)


def test_the_page_does_no_administrative_work(person: Person) -> None:
    for path in ("admin/purge", "admin/backup", "admin/rebuild"):
        assert person.post(path).status == 403
    assert person.get("../../metrics").status in {403, 404}


def test_no_key_is_good_for_what_the_page_may_do(place: Path, server: PageServer) -> None:
    key = new_key(place / "data", "root", "--right", "admin")
    assert server.ask("GET", "/api/v1/directories", key=key).status == 200
    for one in _OWN:
        body = _body(one)
        assert server.ask(one.method, one.path, body, key=key).status == 403, one.name
        assert server.ask(one.method, one.path, body).status == 401, one.name
    plain = [Router(OPERATIONS).find(one.path) for one in _OWN]
    assert [found for found in plain if found and found.operations.keys() & {one.method for one in _OWN}] == []


def test_another_page_may_ask_for_nothing(server: PageServer, browser: Admitted) -> None:
    for one in _OWN:
        body = _body(one)
        for header, status in (
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 401),
            ({"Sec-Fetch-Site": "same-site"}, 401),
            ({"Host": "evil.example"}, 421),
        ):
            asked = server.ask(one.method, one.path, body, headers={**browser.headers, **header})
            assert asked.status == status, (one.name, header)


def test_what_no_browser_vouches_for_may_only_read(server: PageServer, browser: Admitted) -> None:
    bare = {name: value for name, value in browser.headers.items() if name != "Sec-Fetch-Site"}
    assert server.ask("GET", "/api/v1/directories", headers=bare).status == 200
    assert server.ask("POST", "/api/v1/directories/look", {"path": "/"}, headers=bare).status == 403
    assert server.ask("POST", "/api/v1/index", {}, headers=bare).status == 403
    with_origin = {**bare, "Origin": server.root}
    assert server.ask("GET", "/api/v1/status", headers=with_origin).status == 200


def test_directories_that_are_there_are_suggested(tmp_path: Path) -> None:
    for name in ("Dokumente", "Notes", "tracked", "config"):
        (tmp_path / name).mkdir()
    for name in ("Dokumente/a.md", "Dokumente/b.md", "Notes/c.md", "tracked/d.md"):
        (tmp_path / name).write_text("text")
    (tmp_path / "Desktop").mkdir()  # it is empty
    (tmp_path / "config/user-dirs.dirs").write_text('XDG_DOCUMENTS_DIR="$HOME/Dokumente"\nXDG_DESKTOP_DIR="$HOME/"\n')
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with PageServer(tmp_path / "data", **home) as server:
        person = Person(server, server.admit())
        found = person.get("directories/suggested").json["directories"]
        assert str(tmp_path / "Desktop") not in found
        assert found[:2] == [str(tmp_path / "Dokumente"), str(tmp_path / "Notes")]
        assert str(tmp_path) not in found
        assert person.get("directories/suggested?path=~/no").json["directories"] == [str(tmp_path / "Notes")]


@pytest.mark.parametrize("typed", ["relative/pa", "/no/such/", "%00", "/etc/%2e%2e/%00", "x" * 4000])
def test_what_begins_no_path_suggests_nothing(person: Person, typed: str) -> None:
    answer = person.get(f"directories/suggested?path={typed}")
    assert answer.status in {200, 400, 422}
    assert answer.json.get("directories", []) == []


def test_what_is_tracked_is_not_suggested(person: Person, place: Path) -> None:
    found = person.get(f"directories/suggested?path={place}/").json["directories"]
    assert str(place / "more") in found
    assert str(place / "docs") not in found


def test_a_change_of_the_index_is_heard_of(person: Person, place: Path) -> None:
    before = person.get("changes").json
    assert before["files"] == 2
    while (again := person.get(f"changes?moment={before['moment']}").json) != before:
        before = again  # a run of the watch may have just begun
    (place / "docs/beets.md").write_text("# Beets\n\nThey are red.\n")
    after = before
    while after["files"] == before["files"]:
        after = person.get(f"changes?moment={after['moment']}&wait=30").json
    assert after["state"] != before["state"]
    (place / "docs/beets.md").unlink()
    while after["files"] != before["files"]:
        after = person.get(f"changes?moment={after['moment']}&wait=30").json


def test_a_form_of_another_page_is_no_request(server: PageServer, browser: Admitted) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {**browser.headers, "Content-Type": media_type}
        assert server.ask("POST", "/api/v1/directories/look", b'{"path": "/"}', headers=headers).status == 415


def test_it_tells_how_the_index_stands_and_how_it_spreads(person: Person, place: Path) -> None:
    status = person.get("status").json
    assert [one["path"] for one in status["directories"]] == [str(place / "docs")]
    assert (status["files"], status["skipped"]) == (2, 1)
    [root] = person.get("directories").json["directories"]
    assert (root["files"], root["skipped"]) == (2, 1)
    assert [one["name"] for one in root["directories"]] == ["sub"]
    assert person.get("directories?path=/elsewhere").status == 404


def test_it_tells_what_is_not_in_the_index_and_by_which_rule(person: Person, place: Path) -> None:
    found = person.get("left_out").json
    assert found["reasons"] == {"empty": 1}
    assert [(one["path"], one["reason"]) for one in found["files"]] == [(str(place / "docs/empty.md"), "empty")]
    ignored = {one["path"]: one["detail"] for one in person.get("left_out?reason=ignored").json["files"]}
    assert "*.log" in ignored[str(place / "docs/run.log")]
    assert person.get("left_out?reason=ignored&path=/elsewhere").status == 404


def test_it_tells_what_a_query_that_found_little_may_have_been_about(person: Person, place: Path) -> None:
    known = person.get("left_out/near?query=an+empty+box").json
    assert (known["paths"], known["named"], known["causes"]) == (1, 1, [{"cause": "empty", "paths": 1}])
    assert [one["path"] for one in known["files"]] == [str(place / "docs/empty.md")]
    by_rules = person.get("left_out/by_rules?query=runs+of+a+run").json
    assert [one["path"] for one in by_rules["files"]] == [str(place / "docs/run.log")]
    assert by_rules["paths"] == 2
    assert any("*.log" in one["cause"] for one in by_rules["causes"])
    for narrowed in ("type:pdf+empty+run", "path:sub+empty+run", "empty+run&types=pdf"):
        for name in ("near", "by_rules"):
            assert person.get(f"left_out/{name}?query={narrowed}").json["named"] == 0, (narrowed, name)
    assert person.get("left_out/by_rules?query=run&path=/elsewhere").status == 404


def test_settings_say_what_they_are_and_where_they_come_from(person: Person, place: Path) -> None:
    settings = {one["key"]: one for one in person.get("settings").json["settings"]}
    assert settings["data_dir"]["value"] == str(place / "data")
    assert settings["data_dir"]["source"] == "option"
    size = settings["indexing.max_file_size"]
    assert (size["source"], size["value"]) == ("default", size["default"])
    assert all(one["words"] for key, one in settings.items() if "." in key)


def test_a_setting_is_changed_in_the_file_and_nothing_else_in_it(person: Person, place: Path) -> None:
    file = place / "data/config.json"
    file.write_text('{\n  // mine\n  "ocr": {"tesseract": "/usr/bin/tesseract", "languages": ["eng"]}\n}\n')
    answer = person.post("settings", key="ocr.languages", value='["deu", "eng"]')
    settings = {one["key"]: one for one in answer.json["settings"]}
    assert (settings["ocr.languages"]["value"], settings["ocr.languages"]["source"]) == (["deu", "eng"], "file")
    assert "// mine" in file.read_text()
    assert settings["ocr.tesseract"]["value"] == "/usr/bin/tesseract"
    settings = {one["key"]: one for one in person.post("settings", key="ocr.languages").json["settings"]}
    assert settings["ocr.languages"]["source"] == "default"
    file.unlink()
    assert person.post("settings", key="monitoring.battery_percent", value="10").status == 200
    assert person.post("settings", key="monitoring.battery_percent").status == 200
    assert file.read_text().split() == ["{", '"monitoring":', "{}", "}"]
    file.unlink()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ocr.tesseract", "/opt/other"),
        ("embedding.endpoint", "http://127.0.0.1:1"),
        ("embedding.api_key", "k"),
        ("storage.sqlite_path", "/opt/elsewhere"),
        ("indexing.extractors", "[]"),
        ("data_dir", "/opt"),
        ("ocr", "{}"),
        ("monitoring.battery_percent", "101"),
        ("indexing.embedding", "sometimes"),
        ("ocr.languages", '["eng; rm"]'),
    ],
)
def test_no_other_setting_and_no_wrong_value_is_written(person: Person, place: Path, key: str, value: str) -> None:
    assert person.post("settings", key=key, value=value).status in {400, 422}
    assert not (place / "data/config.json").exists()


def test_a_file_that_cannot_be_changed_safely_stays_as_it_is(person: Person, place: Path) -> None:
    file = place / "data/config.json"
    file.write_text('{"ocr": {}}')
    (place / "link").hardlink_to(file)
    answer = person.post("settings", key="ocr.languages", value="deu")
    assert (answer.status, file.read_text()) == (409, '{"ocr": {}}')
    assert "hard links" in answer.json["detail"]
    (place / "link").unlink()
    file.unlink()


def test_neighbours_are_mapped(person: Person) -> None:
    hits = person.post("search", query="garden").json["hits"]
    found = person.get(f"documents/{hits[0]['doc_id']}/neighbours").json
    assert found["filename"] == "note.md"
    assert [one["filename"] for one in found["neighbours"]] == ["soup.md"]
    assert person.get(f"documents/{'a' * 24}/neighbours").status == 404


def test_a_directory_is_added_and_forgotten_when_that_was_confirmed(person: Person, place: Path) -> None:
    look = person.post("directories/look", path=str(place / "more")).json
    assert (look["files"], look["whole"], look["kinds"]) == (1, True, {".md": 1})
    assert person.post("directories/forget", confirmation=look["confirmation"]).status == 409
    look = person.post("directories/look", path=str(place / "more")).json
    begun = person.post("directories/add", confirmation=look["confirmation"])
    assert begun.status == 202
    assert person.ended(begun.json["id"]) == "completed"
    assert person.post("directories/add", confirmation=look["confirmation"]).status == 409
    assert len(person.post("search", query="harbour", mode="keyword").json["hits"]) == 1
    going = person.post("directories/look_at_forgetting", path=str(place / "more")).json
    assert going["files"] == 1
    gone = person.post("directories/forget", confirmation=going["confirmation"])
    assert (gone.status, gone.json["files"]) == (200, 1)
    assert person.post("search", query="harbour", mode="keyword").json["hits"] == []
    assert (place / "more/boats.md").exists()


@pytest.mark.parametrize(
    ("path", "status"),
    [("relative", 422), ("/does/not/exist", 422), ("docs", 409), ("docs/sub", 409), (".", 409), ("docs/note.md", 422)],
)
def test_what_cannot_be_added_is_said_before(person: Person, place: Path, path: str, status: int) -> None:
    given = path if path == "relative" else str(place / path)
    assert person.post("directories/look", path=given).status == status


def test_only_what_is_tracked_can_be_forgotten(person: Person, place: Path) -> None:
    for path in (place / "docs/sub", place / "more", "/"):
        assert person.post("directories/look_at_forgetting", path=str(path)).status == 404
    assert person.post("directories/forget", confirmation="x").status == 409


def test_a_run_is_begun_and_listed(person: Person) -> None:
    begun = person.post("index").json
    assert person.ended(begun["id"]) == "completed"
    assert person.get("operations").json["operations"][0]["kind"] == "index"
