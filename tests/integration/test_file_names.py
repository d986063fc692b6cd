"""Files and directories are found by their names, before the texts that mention them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from trees import plant

from directory_indexer.core.paths import resolved_path
from directory_indexer.ranking.name_match import name_match, typed_names
from directory_indexer.ranking.query import parse_query
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indexes import Index

PICTURE = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 10
PROGRAM = b"MZ\x90\x00" + bytes(range(256)) * 10

TRIAL = (
    *("src/flask/sessions.py", "src/flask/json/provider.py", "src/flask/views.py", "tests/test_blueprints.py"),
    *("docs/appcontext.rst", "docs/patterns/appdispatch.rst", "docs/deploying/apache-httpd.rst", "requirements/dev.in"),
    *("examples/tutorial/flaskr/schema.sql", "lib/response.js", "test/res.location.js", "test/app.routes.error.js"),
    *("examples/auth/views/login.ejs", "examples/mvc/controllers/main/index.js", "test/support/tmpl.js", "History.md"),
    *("crates/uv-client/src/tls.rs", "crates/uv-client/tests/it/ssl_certs.rs", "docs/concepts/build-backend.md"),
    *("crates/uv-resolver/src/pubgrub/report.rs", "mkdocs.yml", "crates/uv/Cargo.toml", "scripts/check_version.sh"),
    *("pre-commit-config.yaml", "docs/assets/uv_gui_h.js"),
)
"""The names of files in three repositories, code and documents, each in a place of its own."""


@pytest.fixture
def trial(index: Index) -> Index:
    names = [name.rpartition("/")[2] for name in TRIAL]
    plant(index.root, {name: f"# {number}\n\nNothing of what it is called.\n" for number, name in enumerate(TRIAL)})
    plant(
        index.root,
        {f"CHANGES/{at}.md": f"# {name}\n\nFixed {name} again: {name} was broken.\n" for at, name in enumerate(names)},
    )
    index.run()
    return index


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
def test_each_file_is_first_for_its_name_although_texts_say_nothing_else(trial: Index, mode: SearchMode) -> None:
    first = [trial.names(name.rpartition("/")[2], mode=mode)[0] for name in TRIAL]
    assert first == list(TRIAL)


def test_each_file_is_first_for_its_name_without_what_stands_behind_the_dot(trial: Index) -> None:
    stems = [name.rpartition("/")[2].rpartition(".")[0] for name in TRIAL]
    assert [trial.names(stem)[0] for stem in stems] == list(TRIAL)


def test_texts_that_mention_the_file_come_after_it(trial: Index) -> None:
    named, text = trial.search("ssl_certs.rs")[:2]
    assert (named.named is None, named.score) == (False, 1.0)
    assert (text.named is None, "ssl_certs.rs" in text.text) == (True, True)


def test_a_passage_of_the_file_is_shown_once(index: Index) -> None:
    index.write("sessions.py", "# sessions.py: what a session is\n")
    index.run()
    assert len(index.search("sessions.py")) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [("Nothing of the name.\n", 1), ("The client waits.\n", 1), ("It moved to client.py last year.\n", 41)],
)
def test_a_named_file_is_shown_from_its_beginning_unless_a_passage_has_the_name(
    index: Index, text: str, line: int
) -> None:
    index.write("client.py", "import this\n" + "# filler\n" * 39 + text * 3 + "# filler\n" * 40)
    index.run()
    first, *others = index.search("client.py")
    assert (bool(first.named), first.excerpt.line or first.excerpt.start_line) == (True, line)
    assert first.chunk_id not in {hit.chunk_id for hit in others}


def test_a_passage_of_a_named_file_may_have_the_words_of_the_name_as_one(index: Index) -> None:
    index.write("token_bucket.py", "# filler\n" * 40 + "class TokenBucket:\n    pass\n" + "# filler\n" * 40)
    index.run()
    assert index.search("token bucket")[0].excerpt.line == 41


def test_names_of_many_files_leave_room_for_texts_and_come_behind_them(index: Index) -> None:
    plant(index.root, {f"{at}/walrus.bin": PROGRAM for at in range(8)})
    plant(index.root, {f"zoo{at}.md": f"The walrus {at} sleeps.\n" for at in range(6)})
    index.run()
    hits = index.search("walrus", mode=SearchMode.KEYWORD, limit=20)
    assert [bool(hit.named) for hit in hits] == [True] * 5 + [False] * 6 + [True] * 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    pages = [index.search("walrus", mode=SearchMode.KEYWORD, limit=limit) for limit in (3, 9, 20)]
    assert pages[0] == pages[1][:3] == pages[2][:3]
    assert pages[1] == pages[2][:9]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Gardasee", "Fotos Italien/IMG_20230714_Gardasee.jpg"),
        ("IMG_20230714", "Fotos Italien/IMG_20230714_Gardasee.jpg"),
        ("gardasee 20230714", "Fotos Italien/IMG_20230714_Gardasee.jpg"),
        ("wireguard", "Setup_Wireguard-0.5.3.exe"),
        ("Setup_Wireguard-0.5.3.exe", "Setup_Wireguard-0.5.3.exe"),
        ("setup wireguard", "Setup_Wireguard-0.5.3.exe"),
        ("leer", "leer.md"),
        ("path:wireguard", "Setup_Wireguard-0.5.3.exe"),
        ("path:gardasee", "Fotos Italien/IMG_20230714_Gardasee.jpg"),
        ("Fotos Italien", "Fotos Italien"),
        ("Kranich", "Projekt_Kranich"),
        ("Kuendigung", "Kündigung.bin"),
        ("kundigung", "Kündigung.bin"),
        ("Müller Haus", "mueller_haus.jpg"),
        ("Mu\u0308ller Haus", "mueller_haus.jpg"),
        ("Großmüller", "Grossmueller"),
        ("東京", "旅行東京.bin"),
    ],
)
def test_files_without_text_and_directories_are_found_by_name(index: Index, query: str, name: str) -> None:
    plant(index.root, {f"f{at}.md": f"filler {at}" for at in range(20)})
    plant(
        index.root,
        {
            "Fotos Italien/IMG_20230714_Gardasee.jpg": PICTURE,
            "Projekt_Kranich/plan.md": "Geheim.",
            "Setup_Wireguard-0.5.3.exe": PROGRAM,
            "Kündigung.bin": PROGRAM,
            "mueller_haus.jpg": PICTURE,
            "Grossmueller/plan.md": "Geheim.",
            "旅行東京.bin": PROGRAM,
            "leer.md": "",
        },
    )
    index.run()
    result = index.searcher.search(index.request(query))
    assert result.hits[0].path == f"{index.root}/{name}"
    assert not result.is_weak
    assert not result.note_texts


@pytest.mark.parametrize("is_prefix", [False, True])
def test_a_word_of_one_or_two_letters_finds_names_with_that_whole_word(index: Index, *, is_prefix: bool) -> None:
    words = ("ko", "Ko", "KO", "kO", "k")
    names = [
        before + word + after for word in words for before in ("", "to", "TO-", "1") for after in ("", "la", "-La", "2")
    ]
    names = sorted({name.lower(): f"{name}.bin" for name in names}.values())
    plant(index.root, dict.fromkeys(names, PROGRAM))
    index.run()
    for query in ("k", "ko"):
        (typed,) = typed_names(parse_query(query))
        meant = [name for name in names if name_match(typed, name)]
        assert meant
        assert index.searcher.search(index.request(query, is_prefix=is_prefix)).n_named == len(meant)


@pytest.mark.parametrize(("typed", "name"), [("_ap", "_api.py"), ("__in", "__init__.py"), ("+pa", "+page.svelte")])
def test_a_name_is_found_by_its_first_signs_and_letters(index: Index, typed: str, name: str) -> None:
    plant(index.root, {name: "Nothing.\n", "other.md": "Nothing else.\n"})
    index.run()
    hit = index.search(typed, mode=SearchMode.KEYWORD, is_prefix=True)[0]
    assert (hit.path, bool(hit.named)) == (f"{index.root}/{name}", True)


def test_what_was_found_by_name_alone_says_why_and_a_directory_what_lies_in_it(index: Index) -> None:
    plant(index.root, {"Fotos Italien/IMG_Gardasee.jpg": PICTURE, "Fotos Italien/more/plan.md": "Nothing."})
    index.run()
    (picture,) = index.search("Gardasee", only_good=True)
    assert (picture.named and picture.named.no_text_reason, picture.text, picture.on_disk) == ("binary", "", None)
    directory = index.search("Fotos Italien")[0]
    assert (directory.facts.kind, directory.text, directory.on_disk) == (
        "directory",
        "IMG_Gardasee.jpg\nmore/plan.md\n",
        None,
    )


def test_secrets_are_not_found_by_their_names(index: Index) -> None:
    plant(index.root, {"keys/id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\n", "plan.md": "Nothing."})
    index.run()
    assert not index.search("id_rsa", only_good=True)
    assert all("id_rsa" not in hit.text for hit in index.search("keys"))


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("walrus type:pdf", {}),
        ("walrus", {"kinds": ("python",)}),
        ("walrus", {"globs": ("*.py",)}),
        ("walrus", {"since": 2**33}),
        ("walrus author:ann", {}),
        ("walrus path:other", {}),
        ("walrus", {"grep": "walrus"}),
        ("walrus", {"mode": SearchMode.SEMANTIC}),
        ("walrus -ginger", {}),
        ("what is in the walrus file", {}),
        ("bin", {}),
        ("wal", {}),
    ],
)
def test_names_outside_of_what_is_asked_for_are_not_found(index: Index, query: str, options: dict[str, object]) -> None:
    plant(index.root, {"walrus.bin": PROGRAM, "walrus.md": "Ginger.", "walrus/plan.md": "Wal is Dutch for quay."})
    index.run()
    assert not any(hit.named for hit in index.search(query, **options))


def test_a_typing_error_is_not_assumed_in_a_name(index: Index) -> None:
    plant(index.root, {"Setup_Wireguard.exe": PROGRAM, "plan.md": "The wireguards are here, wireguards."})
    index.run()
    result = index.searcher.search(index.request("wireguard"))
    assert result.hits[0].path.endswith(".exe")
    assert not result.corrections


@pytest.mark.parametrize("typed", ["comand.go", "COMAND.go", "commadn.go"])
def test_a_misspelt_file_name_is_corrected(index: Index, typed: str) -> None:
    plant(index.root, {"command.go": "package main", "comment.md": "A command.", "format.go": "package main"})
    index.run()
    result = index.searcher.search(index.request(typed))
    assert result.hits[0].path.endswith("/command.go")
    assert result.corrections == ((typed, "command.go"),)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("confguratoin.yaml", "configuration.yaml"),
        ("requiremets.txt", "requirements.txt"),
        ("reqirments.txt", "requirements.txt"),
        ("dokcer-compose.yml", "docker-compose.yml"),
        ("dokcer-compsoe.yml", "docker-compose.yml"),
        ("sesison.py", "session.py"),
        ("perfromance-evalution-2024.txt", "performance-evaluation-2024.txt"),
    ],
)
def test_two_errors_in_a_long_file_name_are_corrected(index: Index, typed: str, name: str) -> None:
    names = ("configuration.yaml", "requirements.txt", "docker-compose.yml", "session.py", "docker-compost.yml")
    dated = ("performance-evaluation-2024.txt", "performance-evaluation-2023.txt")
    plant(index.root, dict.fromkeys((*names, *dated), "x: nothing"))
    index.run()
    assert index.searcher.search(index.request(typed)).corrections == ((typed, name),)


@pytest.mark.parametrize("typed", ["sections.py", "docker-composer.yml", "sesoins.py", "my-settings.py", "report25.md"])
def test_no_word_in_a_file_name_is_corrected_into_another(index: Index, typed: str) -> None:
    names = ("sessions.py", "docker-compose.yml", "our-settings.py", "my-sittings.py", "report24.md")
    plant(index.root, {**dict.fromkeys(names, "x: nothing"), "plan.md": "A composer and sesoins."})
    index.run()
    assert not index.searcher.search(index.request(typed)).corrections


@pytest.mark.parametrize("typed", ["comand.md", "go.go", "commands.go"])
def test_a_file_name_that_may_be_meant_is_left_as_it_is(index: Index, typed: str) -> None:
    plant(index.root, {"command.go": "package main", "go2.go": "package go", "plan.md": "In commands.go and go."})
    index.run()
    assert not index.searcher.search(index.request(typed)).corrections


def test_a_misspelt_file_name_is_corrected_beside_filters(index: Index) -> None:
    plant(index.root, {"src/command.go": "package main", "command.go": "package main", "plan.md": "A command."})
    index.run()
    result = index.searcher.search(index.request("path:src comand.go type:go"))
    assert result.corrections == (("comand.go", "command.go"),)
    assert [hit.path for hit in result.hits] == [str(index.root / "src" / "command.go")]


def test_a_file_is_found_by_its_name_once_a_word_is_corrected(index: Index) -> None:
    plant(index.root, {"wireguard.exe": PROGRAM, "plan.md": "The wireguard is here."})
    index.run()
    result = index.searcher.search(index.request("wirgeuard"))
    assert result.corrections == (("wirgeuard", "wireguard"),)
    assert result.hits[0].path.endswith(".exe")


def test_a_misspelt_file_name_is_corrected_within_the_scope_alone(index: Index) -> None:
    plant(
        index.root, {"docs/report.md": "Nothing.", "src/plan.md": "Nothing.", "notes.md": "Walks.", "src/note.md": "A."}
    )
    index.run()
    for typed, where in (("reprot.md", "src"), ("notes.md", "src")):
        request = index.request(typed, scope=(resolved_path(str(index.root / where)),))
        assert not index.searcher.search(request).corrections
    assert not index.searcher.search(index.request("notes.md", mode=SearchMode.SEMANTIC)).corrections


@pytest.mark.skipif(os.name != "posix", reason="such names are no names elsewhere")
def test_no_name_with_control_characters_is_searched_for_another(index: Index) -> None:
    plant(index.root, {"plan\x07ner.md": "Nothing."})
    index.run()
    assert not index.searcher.search(index.request("planner.md")).corrections


def test_a_part_of_a_compound_is_enough_where_no_text_has_the_word(index: Index) -> None:
    plant(index.root, {"Einkommensteuerbescheid 2023.md": "Sehr geehrte Frau.", "Rezepte/Sauerteigbrot.md": "Mehl."})
    index.run()
    assert index.names("Steuerbescheid")[0] == "Einkommensteuerbescheid 2023.md"
    assert index.names("brot")[0] == "Rezepte/Sauerteigbrot.md"


@pytest.mark.parametrize("query", ["report.json", "--report", "#report"])
def test_a_name_with_other_signs_names_no_file(index: Index, query: str) -> None:
    plant(index.root, {"report_json.md": "Nothing of it.\n", "plan.md": f"It says {query} here.\n"})
    index.run()
    assert index.names(query, mode=SearchMode.KEYWORD)[0] == "plan.md"


def test_all_paths_are_read_once_between_two_writes(index: Index) -> None:
    plant(index.root, {"walrus/plan.md": "Ginger.", "Ágota/walrus.md": "Ginger.", "Notes about Ágota.md": "Ginger."})
    index.run()
    statements = _statements_of_searches(index, ("wal", "walr", "walru"))
    assert sum("json_group_array(path)" in statement for statement in statements) == 1
    assert not any("path LIKE" in statement for statement in statements)
    assert index.names("walrus", mode=SearchMode.KEYWORD)[:2] == ["Ágota/walrus.md", "walrus"]
    assert index.names("agota", mode=SearchMode.KEYWORD)[:2] == ["Ágota", "Notes about Ágota.md"]

    index.write("walrus.md", "Ginger.")
    index.run()

    assert "walrus.md" in index.names("walrus", mode=SearchMode.KEYWORD)


def _statements_of_searches(index: Index, queries: Iterable[str]) -> list[str]:
    statements: list[str] = []
    with index.docstore.snapshot() as snapshot:  # on the connection that the next searches use
        snapshot.queries(lambda connection, _: connection.set_trace_callback(statements.append))
    for query in queries:
        index.search(query, mode=SearchMode.KEYWORD, is_prefix=True)
    return statements
