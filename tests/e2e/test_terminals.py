"""Output on terminals, narrow and wide: of every command, and of a hit in a file of every kind."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pty")

import typer
from page_documents import write_documents
from terminals import Screen, run_on_terminal
from transcripts import claude_code

from directory_indexer.cli.command_line import cli
from directory_indexer.formats.table import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTHS = (80, pytest.param(200, marks=pytest.mark.slow))
COMMANDS = {
    "index": "docs",
    "search": "lantern",
    "grep": "horn",
    "similar": "docs/handbook.md",
    "get": "docs/horn.md",
    "outline": "",
    "symbol": "lantern",
    "locate": "--text lantern",
    "status": "--verbose",
    "convert": "docs/horn.md",
    "export": "out.db",
    "scope": "tower docs",
    "add": "--collection birds --wait words note.md",
    "collection list": "",
    "collection create": "notes",
    "collection describe": "birds seabirds",
    "collection delete": "birds --yes",
    "documents list": "--collection birds",
    "documents get": "--collection birds ID",
    "documents original": "--collection birds ID copy.md",
    "documents delete": "--collection birds ID",
    "documents refresh": "--collection birds ID",
    "backup": "new-backup",
    "restore": "backup --replace --yes",
    "forget": "docs --yes",
    "migrate": "--to-embedded",
    "doctor": "",
    "serve": "--print-config cursor",
    "install": "--dry-run",
    "usage": "home/transcripts",
    "ui": "--no-browser --port 0",
    "key new": "ben",
    "key list": "",
    "key revoke": "ann",
    "config": "",
    "config init": "--config other.json",
}
"""Arguments with which each command has something to show."""

CODES = {"similar": 1, "documents refresh": 2, "migrate": 2, "ui": 130}
"""Exit codes but 0: nothing is like the file by words alone, and nothing came from an address or a server."""

VERBATIM = {"install"}
"""Commands that show lines of files as they are, which the terminal wraps."""

WORDS = "The quokkas of the island eat leaves"
TEXTS = {
    "calendar": f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:{WORDS}\nEND:VEVENT\nEND:VCALENDAR\n",
    "contacts": f"BEGIN:VCARD\nFN:Ann\nNOTE:{WORDS}\nEND:VCARD\n",
    "fictionbook": f"<FictionBook><body><section><p>{WORDS}</p></section></body></FictionBook>",
    "json": json.dumps({"text": WORDS}),
    "notebook": json.dumps({"cells": [{"cell_type": "markdown", "source": [WORDS]}], "nbformat": 4}),
    "subtitles": f"1\n00:00:01,000 --> 00:00:04,000\n{WORDS}\n",
    "svg": f'<svg xmlns="http://www.w3.org/2000/svg"><text>{WORDS}</text></svg>',
}
"""Files that are read by their structure; all others are words."""


class Place:
    """Someone with documents and an index of their words, at terminals of any width."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data_dir = directory / "data"
        self.kept = directory / "data as it was"
        self.document = ""
        (directory / "docs").mkdir()
        (directory / "home/.codex").mkdir(parents=True)
        (directory / "config.json").write_text('{"indexing": {"embedding": "off"}, "ocr": {"engine": "off"}}')

    def run(
        self,
        *words: str,
        columns: int = 80,
        typed: str = "",
        after: str = "",
        then: Sequence[tuple[str, str]] = (),
        **variables: str,
    ) -> Screen:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory / "home"),
            "DIRINDEX_DATA_DIR": str(self.data_dir),
            "DIRINDEX_CONFIG": str(self.directory / "config.json"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **variables,
        }
        return run_on_terminal(
            *words, columns=columns, at=self.directory, environ=environ, typed=typed, after=after, then=then
        )

    def keep(self) -> None:
        shutil.copytree(self.data_dir, self.kept)

    def put_back(self) -> None:
        """Restore the index as it was kept, whatever a command did to it, and remove what a command wrote."""
        shutil.rmtree(self.data_dir)
        shutil.copytree(self.kept, self.data_dir)
        shutil.rmtree(self.directory / "new-backup", ignore_errors=True)
        for name in ("out.db", "copy.md", "other.json"):
            (self.directory / name).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as directory:  # its name is short, so that lines with it are
        place = Place(Path(directory))
        write_documents(place.directory / "docs")
        (place.directory / "docs/horn.md").write_text("# The horn\n\nIt is sounded every minute in mist.\n")
        (place.directory / "note.md").write_text("# Penguins\n\nThe little penguin nests below the lantern.\n")
        (place.directory / "home/transcripts").mkdir()
        session = claude_code(
            [("user", "where is the lantern"), ("assistant", "at the tower")], session="a", day="2026-01-31"
        )
        (place.directory / "home/transcripts/a.jsonl").write_bytes(session)
        for words in (
            "index docs",
            "collection create birds",
            "key new ann",
            "add --collection birds --wait words note.md",
            "backup backup",
        ):
            assert place.run(*words.split()).code == 0
        listed = json.loads(place.run("documents", "list", "--collection", "birds", "--json").text)
        place.document = listed["documents"][0]["doc_id"]
        place.keep()
        yield place


def commands(group: Any, *names: str) -> Iterator[str]:
    below = getattr(group, "commands", None)
    for name in below or ():
        yield from commands(group.get_command(typer.Context(group), name), *names, name)
    if names and (below is None or group.invoke_without_command):
        yield " ".join(names)


def require_right(screen: Screen, code: int = 0) -> None:
    assert screen.code == code, screen.text
    assert "this is a bug" not in screen.text
    assert "Traceback" not in screen.text


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(commands(typer.main.get_command(cli)))


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_writes_fits_the_terminal(place: Place, command: str, columns: int) -> None:
    place.put_back()
    words = COMMANDS[command].replace("ID", place.document).split()
    typed, after = ("\x03", "#code=") if command == "ui" else ("", "")
    screen = place.run(*command.split(), *words, columns=columns, typed=typed, after=after)
    require_right(screen, CODES.get(command, 0))
    assert command in VERBATIM or screen.too_wide == []
    assert screen.text.strip() or command == "collection describe"


def test_a_size_of_many_digits_is_no_size(place: Place) -> None:
    size = "1" * 5_000
    require_right(place.run("search", "lantern", COLUMNS=size, LINES=size))


@pytest.mark.parametrize(
    ("words", "is_told"), [("SOUNDED", True), ("SOUNDED -F", True), ("zqxj", False), ("-i zqxj", False)]
)
def test_a_pattern_that_matches_in_another_case_alone_is_told(place: Place, words: str, is_told: bool) -> None:  # noqa: FBT001 - a parameter
    screen = place.run("grep", *words.split(), "docs")
    require_right(screen, 1)
    assert ("but some do with -i" in screen.text) is is_told


def test_help_fits_the_terminal(place: Place) -> None:
    for command in ("", *COMMANDS):
        screen = place.run(*command.split(), "--help", columns=80)
        require_right(screen)
        assert screen.too_wide == []


def test_help_begins_with_the_first_steps_and_lists_every_command_once(place: Place) -> None:
    text = place.run("help", columns=80).text
    assert "..." not in text.partition("Find and read:")[2]
    assert text.index("First steps:") < text.index("Options:") < text.index("Find and read:")
    names = {name.split()[0] for name in COMMANDS}
    assert [len(re.findall(rf"(?m)^  {name}\b", text)) for name in names] == [1] * len(names)


def test_help_names_every_value_in_capitals(place: Place) -> None:
    for command in COMMANDS:
        usage, *lines = place.run(*command.split(), "--help", columns=80).text.split("\n")
        assert re.search(r"[\[{][a-z]", usage) is None, usage
        assert [line for line in lines if re.search(r"  -.*<[^|>]*>", line)] == []


def test_help_with_a_command_shows_its_options(place: Place) -> None:
    assert place.run("help", "collection", "create").text == place.run("collection", "create", "--help").text
    assert place.run("help", "nonsense").code == 2


def test_aliases_run_their_commands(place: Place) -> None:
    place.put_back()
    assert "docs" in place.run("ls").text
    screen = place.run("rm", "docs", "--yes")
    require_right(screen)
    assert "no longer tracked" in screen.text


@pytest.fixture(scope="module")
def kinds() -> Iterator[Place]:
    """Index a file of every kind of text."""
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        for kind, form in FORMATS.items():
            if form.is_text and (form.suffixes or form.names):
                name = f"a.{form.suffixes.split()[0]}" if form.suffixes else form.names.split()[0]
                (place.directory / "docs" / kind).mkdir()
                text = TEXTS.get(kind, WORDS).replace(WORDS, f"{WORDS}, says {kind}")
                (place.directory / "docs" / kind / name).write_text(text)
        assert place.run("index", "docs").code == 0
        yield place


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_hit_in_a_text_of_every_kind_is_shown(kinds: Place, columns: int) -> None:
    screen = kinds.run("search", "quokkas", "--mode", "keyword", "-n", "1000", "--all", columns=columns)
    require_right(screen)
    assert screen.too_wide == []
    texts = {path.name for path in (kinds.directory / "docs").iterdir()}
    assert texts == set(re.findall(r"docs/(\w+)/", screen.text))


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\x04", 2)], ids=["yes", "no", "end"])
def test_forget_asks_first_and_names_what_will_be_lost(place: Place, answer: str, code: int) -> None:
    place.put_back()
    screen = place.run("forget", "docs", typed=answer, after="[y/N]", columns=100)
    require_right(screen, code)
    assert re.match(r"\d+ files and \d+ passages \(0 searchable by meaning\) of docs will be removed", screen.text)
    assert ("no longer tracked" in screen.text) == (code == 0)
    is_tracked = bool(json.loads(place.run("status", "--json").text)["directories"])
    assert is_tracked == (code != 0)
    assert "nothing was removed" in screen.text or code == 0


def test_forget_asks_nothing_about_what_is_not_tracked(place: Place) -> None:
    screen = place.run("forget", "home", columns=100)
    require_right(screen, 1)
    assert "is not tracked" in screen.text
    assert "[y/N]" not in screen.text


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_search_follows_what_is_typed_and_prints_the_place_of_the_accepted_hit(place: Place, columns: int) -> None:
    screen = place.run(
        *("search", "--interactive"),
        columns=columns,
        after="type a question or words",
        typed="sounde",
        then=[("sounded every minute", "\x15lanter"), ("hits; arrows select", "\x1b[B"), (">  2  ", "\x1b[A\t")],
    )
    require_right(screen)
    assert screen.too_wide == []
    printed = screen.written.rpartition("\x1b[?1049l")[2].strip()
    assert Path(printed.rpartition(":")[0]).parts[-2] == "docs"


def test_a_hit_is_opened_from_the_list_and_the_list_is_there_again(place: Place) -> None:
    screen = place.run(
        *("search", "sounded", "--interactive"),
        EDITOR="head -n 1",
        after="sounded every minute",
        typed="\r",
        then=[("# The horn", ""), ("sounded every minute", "\x1b")],
    )
    require_right(screen)
    assert screen.written.count("\x1b[?1049h") == screen.written.count("\x1b[?1049l") == 2
    assert "searching …" in screen.written
    assert "nothing found" not in screen.written


def test_an_editor_that_cannot_be_started_is_reported_in_the_list(place: Place) -> None:
    screen = place.run(
        *("search", "sounded", "--interactive"),
        EDITOR="/nowhere/editor",
        after="sounded every minute",
        typed="\r",
        then=[("cannot be started", "\x03")],
    )
    require_right(screen)


def test_locate_says_that_it_waits_for_a_report(place: Place) -> None:
    screen = place.run("locate", typed="the lantern of the handbook\n\x04", after="on a line of its own", columns=100)
    require_right(screen)
    assert "handbook.md" in screen.text
