"""Files and directories that a query names are told alike to people, programs, assistants and the page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from served import Served
from shells import Shell
from teams import Team
from trees import plant

from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode
from directory_indexer.server.mcp import Budgets, count_json_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.storage.documents.runs import Outcome

PICTURE = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 10
TREE: dict[str, str | bytes] = {
    "src/sessions.py": "def open_it():\n    return 1\n",
    "CHANGES.md": "sessions.py was fixed; sessions.py is fine.\n",
    "version.go": "package main\n",
    "GoVersion.java": "class GoVersion {}\n",
    "client_session_key.txt": "12\n",
    "Makefile": "GO_VERSION = 1\n_version = 2\n",
    "Fotos Italien/IMG_Gardasee.jpg": PICTURE,
    **{f"many/report {at}.bin": PICTURE for at in range(30)},
    "id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\n",
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    place = tmp_path_factory.mktemp("place")
    docs = plant(place / "docs", TREE)
    team = Team(place / "data")

    def goes_on() -> Outcome | None:
        return None

    team.app.runs.indexer.index([str(docs)], options=IndexOptions(), listener=lambda _: None, stop_reason=goes_on)
    yield team
    team.close()


@pytest.fixture(scope="module")
def served(team: Team) -> Iterator[Served]:
    with Served(team) as served:
        yield served


def rest(served: Served, query: str, **more: object) -> dict[str, Any]:
    body = json.dumps({"query": query, "mode": "keyword", **more}).encode()
    answer: dict[str, Any] = served.ask("POST", "/api/v1/search", body=body).json
    return answer


def mcp(served: Served, query: str, **more: object) -> tuple[str, dict[str, Any]]:
    return served.call("search", {"query": query, "mode": "keyword", **more})


def told(hit: dict[str, Any]) -> tuple[str, object, object]:
    return hit["path"].rpartition("/")[2], hit.get("matched"), hit.get("no_text")


def test_the_api_and_assistants_get_the_same_names_first(served: Served) -> None:
    first: dict[str, list[tuple[str, object, object]]] = {
        "sessions.py": [("sessions.py", "name", None), ("CHANGES.md", None, None)],
        "Gardasee": [("IMG_Gardasee.jpg", "name", "binary")],
        "Fotos Italien": [("Fotos Italien", "name", None)],
    }
    for query, expected in first.items():
        for hits in (rest(served, query)["hits"], mcp(served, query)[1]["hits"]):
            assert [told(hit) for hit in hits][: len(expected)] == expected


def test_an_identifier_names_files_with_its_words_in_their_order(served: Served) -> None:
    names = [[told(hit)[0] for hit in rest(served, query)["hits"]] for query in ("GO_VERSION", "_version")]
    assert names == [["GoVersion.java", "Makefile"], ["Makefile", "GoVersion.java"]]
    assert told(rest(served, "client_key")["hits"][0])[0] == "client_session_key.txt"
    assert told(rest(served, "go_", prefix=True)["hits"][0])[0] == "GoVersion.java"


def test_a_picture_without_text_can_be_opened_and_has_no_place_in_plain_results(served: Served) -> None:
    answer = rest(served, "Gardasee")
    assert "doc_id" in answer["hits"][0]
    assert "doc_id" not in rest(served, "Fotos Italien")["hits"][0]
    assert answer["results"] == []
    (plain,) = [one for one in rest(served, "sessions.py")["results"] if one["metadata"]["filename"] == "sessions.py"]
    assert plain["text"].startswith("def open_it")


def test_assistants_are_told_what_a_name_stands_for_and_not_its_text(served: Served) -> None:
    assert "\nsrc/sessions.py\n[1] 1-1  score 1.0; found by its name\n" in mcp(served, "sessions.py")[0]
    assert "  score 1.0; found by its name; no text: binary" in mcp(served, "Gardasee")[0]
    assert "[1] directory  score 1.0; found by its name\n  IMG_Gardasee.jpg\n" in mcp(served, "Fotos Italien")[0]


def test_of_many_names_an_assistant_gets_a_few_and_the_number_of_all(served: Served) -> None:
    text, answer = mcp(served, "report")
    assert (len(answer["hits"]), answer["named"]) == (10, 30)
    assert "30 files and directories have names that match" in text
    for max_tokens in (Budgets.LEAST, 400, Budgets.SEARCH):
        text, answer = mcp(served, "report", limit=50, max_tokens=max_tokens)
        assert max(count_json_tokens(answer), count_json_tokens(text)) <= max_tokens


def test_a_page_of_names_is_continued(served: Served) -> None:
    first = rest(served, "report", limit=8)
    second = rest(served, "report", limit=8, cursor=first["next_cursor"])
    names = [hit["path"] for hit in (*first["hits"], *second["hits"])]
    assert len(set(names)) == len(names) == 16


def test_the_api_completes_the_word_that_is_being_typed(served: Served) -> None:
    assert [told(hit)[0] for hit in rest(served, "ope", prefix=True)["hits"]] == ["sessions.py"]
    assert rest(served, "ope")["hits"] == []


def test_no_secret_is_named_on_any_face(served: Served) -> None:
    assert rest(served, "id_rsa")["hits"] == []
    assert mcp(served, "id_rsa")[1]["hits"] == []


def test_names_stand_first_in_several_collections(team: Team) -> None:
    team.collections.create("notes")
    team.add("Talk of sessions.py and sessions.py again.", "notes", filename="talk.md")
    found = team.search("sessions.py", "default", "notes", mode=SearchMode.KEYWORD)
    assert [bool(hit.named) for hit in found[:2]] == [True, False]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    place = tmp_path_factory.mktemp("shell")
    shell = Shell(place, place)
    plant(shell.docs, TREE)
    shell.run("index", shell.docs, "-q")
    return shell


def test_the_command_writes_names_first_in_every_form(shell: Shell) -> None:
    source = "src/sessions.py"
    search = ("search", "sessions.py", "-m", "keyword")
    assert shell.json(*search)["hits"][0]["matched"] == "name"
    assert shell.run(*search, "--format", "paths").stdout.startswith(f"{source}\n")
    assert shell.run(*search, "-0").stdout.startswith(f"{source}\0")
    assert shell.run(*search, "--files").stdout.startswith(f"{source}\n")
    assert shell.run(*search, "--format", "tsv").stdout.splitlines()[1].startswith(f"{source}\t1\t")
    assert shell.run(*search, "--format", "md").stdout.startswith(f"1. [{source}:1]")


@pytest.mark.parametrize("form", ["text", "jsonl", "tsv", "md", "paths"])
def test_a_file_without_text_is_written_in_every_form(shell: Shell, form: str) -> None:
    assert "IMG_Gardasee.jpg" in shell.run("search", "gardasee", "--format", form).stdout


def test_lines_are_those_of_texts_alone(shell: Shell) -> None:
    assert shell.run("search", "gardasee", "--format", "grep").stdout == ""


def test_a_program_without_text_is_not_handed_to_the_desktop(shell: Shell) -> None:
    assert "is not opened: the desktop" in shell.run("search", "gardasee", "--open", "1", expect=2).stderr


def test_the_command_takes_the_last_word_for_a_beginning(shell: Shell) -> None:
    assert "sessions.py" in shell.run("search", "ope", "--prefix", "--format", "paths").stdout
    assert shell.run("search", "ope", "-m", "keyword", "--format", "paths", expect=1).stdout == ""
