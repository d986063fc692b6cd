"""The installed command, with the packaged model and both stores, as people and scripts use it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from office_files import pptx, shape
from shells import DIRINDEX, Shell

from directory_indexer.core.lock import write_lock
from directory_indexer.core.paths import file_path
from directory_indexer.storage.documents.runs import RunRequest, Verb
from directory_indexer.storage.documents.schema import SCHEMA
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def shell(tmp_path: Path, home_directory: Path) -> Shell:
    return Shell(tmp_path, home_directory)


class SharedIndex:
    """Three files, indexed once for all tests of this module: each test gets a copy of the data directory.

    An index knows the inodes of its files and their times of change, so the files themselves stay in place, and are
    indexed again after a test that changed them.
    """

    def __init__(self, place: Path, home: Path) -> None:
        self._place, self._home = place, home
        self._stamps: dict[Path, tuple[int, int]] | None = None

    def shell(self, home: Path) -> Shell:
        """Return a shell with the three files and an index of its own."""
        data, copy = self._place / "data", self._place / "copy"
        if self._stamps != self._current_stamps():
            shutil.rmtree(self._place)
            self._place.mkdir()
            self._index()
            shutil.copytree(data, copy, symlinks=True)
            self._stamps = self._current_stamps()
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(copy, data, symlinks=True)
        return Shell(self._place, home)

    def _index(self) -> None:
        shell = Shell(self._place, self._home)
        shell.write("ops/keys.md", "# Operations\n\n## Key rotation\n\nRotate the signing keys every ninety days.\n")
        shell.write("kitchen/soup.md", "# Soup\n\nBoil the carrots with ginger and serve it hot.\n")
        shell.write("code/store.py", "class Store:\n    def open(self, path):\n        return connect(path)\n")
        shell.run("index", shell.docs, "--quiet")

    def _current_stamps(self) -> dict[Path, tuple[int, int]]:
        docs = self._place / "docs"
        return {
            path: (path.lstat().st_ino, path.lstat().st_ctime_ns) for path in (docs, *docs.rglob("*")) if docs.exists()
        }


@pytest.fixture(scope="module")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> SharedIndex:
    return SharedIndex(tmp_path_factory.mktemp("indexed"), tmp_path_factory.mktemp("home"))


@pytest.fixture
def indexed(shared_index: SharedIndex, home_directory: Path) -> Shell:
    return shared_index.shell(home_directory)


def test_a_question_finds_the_passage_that_answers_it(indexed: Shell) -> None:
    hit = indexed.json("search", "how often do we have to change our credentials")["hits"][0]
    assert hit["path"] == str(indexed.docs / "ops/keys.md")
    assert hit["heading"] == "Operations > Key rotation"
    assert "Rotate the signing keys" in hit["excerpt"]
    assert 0 < hit["score"] <= 1


def test_a_pipe_gets_plain_rows_that_start_with_path_and_line(indexed: Shell) -> None:
    rows = indexed.run("search", "carrots ginger", "--mode", "keyword").stdout.splitlines()
    place, score, *_ = rows[0].split("\t")
    assert place.rpartition(":")[0] == "kitchen/soup.md"
    assert float(score) > 0
    assert "\x1b" not in rows[0]


def test_the_first_index_and_the_first_answer_need_no_network(shell: Shell) -> None:
    shell.write("keys.md", "Rotate the signing keys every ninety days.\n")
    program = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('the network was asked for')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
        "from directory_indexer.cli import main; main()\n"
    )
    for words in (["index", shell.docs, "--json"], ["search", "how often do credentials change", "--json"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            capture_output=True,
            check=False,
            cwd=shell.docs,
            env=shell.environ,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [hit["path"] for hit in answer["hits"]] == [str(shell.docs / "keys.md")]
    assert "keywords alone" not in str(answer.get("notes"))


def test_a_run_whose_time_is_up_ends_cleanly_and_the_next_one_does_what_is_left(shell: Shell) -> None:
    shell.environ["DIRINDEX_INDEXING__EMBEDDING"] = "off"
    shell.write("keys.md", "Rotate the signing keys every ninety days.\n")
    report = shell.json("index", shell.docs, "--max-seconds", "0")
    assert (report["state"], report["added"]) == ("out of time", 0)
    report = shell.json("index", shell.docs, "--max-seconds", "1000")
    assert (report["state"], report["added"]) == ("completed", 1)


def test_a_search_for_nonsense_exits_with_1(indexed: Shell) -> None:
    assert indexed.run("search", "zxqv", "--mode", "keyword", expect=1).stdout == ""


def test_a_word_that_is_nowhere_has_no_hits_that_score_nothing(indexed: Shell) -> None:
    ended = indexed.run("search", "zxqwvbn", expect=1)
    assert "\t0.00\t" not in ended.stdout
    assert ended.stderr.startswith("nothing")


def test_a_typing_error_is_corrected_and_told(indexed: Shell) -> None:
    done = indexed.run("search", "rotaet the signing keys", "--mode", "keyword")
    assert "ops/keys.md" in done.stdout
    assert 'searched for rotate instead of rotaet; write "rotaet" to search for that' in done.stderr
    answer = indexed.json("search", "rotaet the signing keys", "--mode", "keyword")
    assert answer["corrections"] == {"rotaet": "rotate"}
    assert answer["notes"] == ['searched for rotate instead of rotaet; write "rotaet" to search for that']
    quoted = indexed.json("search", '"rotaet"', "--mode", "keyword", expect=1)
    assert (quoted["hits"], "corrections" in quoted) == ([], False)


def test_an_answer_ends_where_hits_are_much_weaker_unless_all_are_asked_for(shell: Shell) -> None:
    shell.write("best.md", "Rotate the signing keys every ninety days.\n")
    for number in range(4):
        shell.write(f"rest{number}.md", f"Number {number} of the piano has keys of ivory, and strings of steel.\n")
    shell.run("index", shell.docs, "--quiet")
    words = ("search", "rotate signing keys", "--mode", "keyword")
    answer, whole = shell.json(*words), shell.json(*words, "--all")
    least = answer["hits"][0]["score"] * 0.3
    assert [hit["path"] for hit in answer["hits"]] == [hit["path"] for hit in whole["hits"] if hit["score"] >= least]
    assert (len(answer["hits"]), len(whole["hits"])) == (1, 5)
    assert (answer["weaker_left_out"], answer["truncated"]) == (True, False)
    assert (whole["weaker_left_out"], len(shell.json(*words, "--all", "--limit", "3")["hits"])) == (False, 3)
    told = "hits that are much weaker than the best are left out; --all shows them"
    assert told in shell.run(*words).stderr
    assert told not in shell.run(*words, "--all").stderr


def test_no_more_is_printed_than_there_are_tokens_for_but_one_hit(shell: Shell) -> None:
    for number in range(8):
        shell.write(f"key{number}.md", f"Rotate the signing key {number} every ninety days.\n")
    shell.run("index", shell.docs, "--quiet")
    words = ("search", "rotate signing key", "--mode", "keyword")
    whole = shell.run(*words).stdout
    some = shell.run(*words, "--max-tokens", str(len(whole.encode()) // 6))
    assert whole.startswith(some.stdout)
    assert 0 < len(some.stdout) <= len(whole) // 2
    assert "did not fit into" in some.stderr
    one = shell.run(*words, "--max-tokens", "1")
    assert (one.stdout.count("\n"), one.stderr.endswith("did not fit into 1 token\n")) == (1, True)
    page = shell.json(*words, "--max-tokens", "700")
    assert (page["truncated"], 0 < len(page["hits"]) < 8) == (True, True)
    following = shell.json(*words, "--max-tokens", "700", "--cursor", page["next_cursor"])
    assert not {hit["path"] for hit in page["hits"]} & {hit["path"] for hit in following["hits"]}


def test_another_wording_is_asked_for_in_the_same_list(indexed: Shell) -> None:
    answer = indexed.json("search", "open a store", "--also", "signing keys", "--mode", "keyword")
    paths = {hit["path"].removeprefix(f"{indexed.docs}/") for hit in answer["hits"]}
    alone = {
        hit["path"].removeprefix(f"{indexed.docs}/")
        for words in ("open a store", "signing keys")
        for hit in indexed.json("search", words, "--mode", "keyword")["hits"]
    }
    assert paths == alone
    assert len(paths) > 1


def test_an_option_before_the_command_is_told_where_it_belongs(indexed: Shell) -> None:
    answer = json.loads(indexed.run("--json", "search", "carrots", expect=2).stdout)
    assert answer["hint"] == "options belong after it: dirindex search … --json"
    assert "dirindex status … --verbose" in indexed.run("--verbose", "status", expect=2).stderr


def test_text_that_begins_like_an_option_is_told_how_it_is_written(indexed: Shell) -> None:
    for command, text in (("search", "--dry-run"), ("grep", "->")):
        told = indexed.run(command, text, expect=2).stderr
        assert f"To search for it as text: dirindex {command} -- {shlex.quote(text)}" in told
        for wrong in ("--verbos", "--glob"):  # the one is nearly an option, the other lacks its value
            assert "To search for it" not in indexed.run(command, "x", wrong, expect=2).stderr
    assert "carrots" in indexed.run("search", "--", "-carrots OR carrots").stdout


def test_an_empty_query_is_told_what_to_ask_and_nothing_else(shell: Shell) -> None:
    shell.write("empty.md", "")
    shell.write("full.md", "Carrots.")
    shell.run("index", shell.docs)
    told = shell.run("search", "", expect=1).stderr
    assert told.startswith("the query is empty: ")
    assert told.count("\n") == 1


def test_scope_type_and_glob_narrow_a_search(indexed: Shell) -> None:
    hits = indexed.json("search", "open", indexed.docs / "code")["hits"]
    assert [hit["path"] for hit in hits] == [str(indexed.docs / "code/store.py")]
    hits = indexed.json("search", "open a store", "--type", "py", "--limit", "5")["hits"]
    assert {hit["path"] for hit in hits} == {str(indexed.docs / "code/store.py")}
    hits = indexed.json("search", "hot", "--glob", "soup*", "--limit", "5")["hits"]
    assert {hit["path"] for hit in hits} == {str(indexed.docs / "kitchen/soup.md")}


def test_files_are_listed_once_passages_whole_and_ranks_with_reasons(shell: Shell) -> None:
    text = "".join(f"# Part {part}\n\nThe heron waits in part {part}.\n{'It waits. ' * 150}\n\n" for part in range(3))
    path = shell.write("heron.md", text)
    shell.write("fox.md", "The fox and the heron.\n")
    shell.run("index", shell.docs, "--quiet")
    rows = shell.run("search", "heron", "--files", "--all", "--limit", "9").stdout.splitlines()
    assert sorted(rows) == ["fox.md", "heron.md"]
    [hit] = shell.json("search", "heron part 1", "--full", "--limit", "1")["hits"]
    start, end = hit["start_line"], hit["end_line"]
    assert hit["path"] == str(path)
    assert hit["text"].splitlines() == text.splitlines()[start - 1 : end]
    assert "keyword rank" in shell.run("search", "heron", "--explain").stdout


def test_a_tilde_and_a_link_lead_to_the_directory_itself(shell: Shell, home_directory: Path) -> None:
    (home_directory / "notes").mkdir()
    (home_directory / "notes/heron.md").write_text("The heron waits.\n")
    (shell.docs / "link").symlink_to(home_directory / "notes")
    shell.run("index", "~/notes")
    assert shell.json("index", "link")["unchanged"] == 1
    real = os.path.realpath(home_directory / "notes")
    assert [directory["path"] for directory in shell.json("status")["directories"]] == [real]
    for place in ("~/notes", "link", f"{shell.docs}/link"):
        assert [hit["path"] for hit in shell.json("search", "heron", place)["hits"]] == [f"{real}/heron.md"]
    shell.run("get", "link/heron.md")
    shell.run("forget", "link", "--yes")
    assert shell.json("status")["directories"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("search", "kestrel", "--mode", "keyword"),
        ("search", "kestrel", "--files"),
        ("grep", "kestrel"),
        ("symbol", "kestrel"),
        ("locate",),
        ("similar", "code/store.py"),
    ],
    ids=" ".join,
)
def test_a_file_that_came_since_the_last_run_is_in_the_answer_or_said_to_be_missing(
    indexed: Shell, words: tuple[str, ...]
) -> None:
    store = (indexed.docs / "code/store.py").read_text(encoding="utf-8")
    indexed.write("code/birds.py", f"def kestrel():\n    return 1\n\n\n{store}")
    done = indexed.run(*words, stdin="kestrel is wrong, see birds.py", expect=None)
    assert "birds.py" in done.stdout or re.search("changed since|not searchable by meaning yet", done.stderr)


def test_what_an_answer_may_miss_is_said_once_on_a_terminal_below_the_hits(shell: Shell) -> None:
    shell.write("heron.md", "The heron waits.\n")
    shell.write("broken.ipynb", '{"cells": [')
    shell.run("index", shell.docs, expect=1)

    def shown(*words: str) -> str:
        command: list[str | Path] = [DIRINDEX, "search", *words, "--color", "always"]
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return str(subprocess.run(command, env=shell.environ, cwd=shell.docs, check=False, **streams).stdout)

    first = shown("heron")
    assert -1 < first.find("heron.md") < first.find("1 file that failed")
    assert "1 file that failed" not in shown("heron")
    assert "1 file that failed" in shown("heron", "--verbose")
    assert "1 file that failed" in shown("bittern", "--mode", "keyword")


def test_what_an_answer_may_miss_is_said_to_every_program(shell: Shell) -> None:
    shell.write("heron.md", "The heron waits.\n")
    shell.write("broken.ipynb", '{"cells": [')
    shell.run("index", shell.docs, expect=1)
    for command in (("search", "heron"), ("grep", "heron")):
        for _ in range(2):
            assert any("1 file that failed" in note for note in shell.json(*command)["notes"])
            assert "1 file that failed" in shell.run(*command).stderr


def test_the_rule_that_leaves_a_file_out_is_named(shell: Shell) -> None:
    shell.write(".gitignore", "# what is made\n*.log\n")
    shell.write("made.log", "text")
    path = shell.write("kept.md", "text")
    assert "made.log  .gitignore:2: *.log" in shell.run("index", path.parent, "--dry-run", "--verbose").stdout


def test_slides_that_came_by_mail_are_found_by_it(shell: Shell) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Anna Berg <anna@example.org>", "bob@example.org", "Harbour"
    message["Date"] = "Fri, 1 Mar 2024 12:00:00 +0100"
    message.set_content("See what is attached.\n")
    slides = pptx({"one": shape("The budget of the harbour grows.")})
    message.add_attachment(slides, "application", "octet-stream", filename="slides.pptx")
    (shell.docs / "2024.mbox").write_bytes(b"From anna@example.org Fri Mar  1 12:00:00 2024\n" + message.as_bytes())
    (shell.docs / "other.pptx").write_bytes(pptx({"one": shape("The budget of the school shrinks.")}))
    shell.run("index", shell.docs, "--quiet")
    path = str(shell.docs / "2024.mbox!/0001 Harbour.eml!/slides.pptx")

    [hit] = shell.json("search", "budget from:anna", "--type", "pptx")["hits"]
    assert (hit["path"], hit["metadata"]["from"]) == (path, ["Anna Berg <anna@example.org>"])
    [hit] = shell.json("search", "budget", "--type", "pptx", "from:anna", "subject:harbour", shell.docs)["hits"]
    assert hit["path"] == path
    [hit] = shell.json("search", "budget", "--type", "pptx", "--created", "2024-03", "--to", "bob")["hits"]
    assert hit["path"] == path
    assert shell.json("search", "type:pptx subject:harbour", "--facets")["facets"]["years"] == {"2024": 1}
    assert shell.json("get", path)["metadata"]["subject"] == ["Harbour"]
    assert "from Anna Berg <anna@example.org>" in shell.run("get", path).stderr


def test_a_hit_in_a_file_that_is_gone_or_changed_says_so(indexed: Shell) -> None:
    indexed.environ["DIRINDEX_SEARCHING__REFRESH_MS"] = "0"
    (indexed.docs / "ops/keys.md").unlink()
    indexed.write("kitchen/soup.md", "Something else.\n")
    for query, became in (("signing keys", "gone"), ("carrots ginger", "changed"), ("class store", None)):
        answer = indexed.json("search", query, "--mode", "keyword", "--limit", "1")
        assert answer["hits"][0].get("on_disk") == became
        told = indexed.run("search", query, "--mode", "keyword", "--limit", "1").stderr
        assert (f"of these, 1 file {became} since the last run" in told) is (became is not None)
    assert "is gone since it was indexed" in indexed.run("get", indexed.docs / "ops/keys.md").stderr


def test_a_filter_beside_the_query_keeps_the_words_that_the_shell_took_the_quotes_from(indexed: Shell) -> None:
    hits = indexed.json("search", "signing keys", "heading:key rotation")["hits"]
    assert {hit["path"] for hit in hits} == {str(indexed.docs / "ops/keys.md")}
    assert indexed.json("search", "signing keys", "heading:soup rotation", expect=1)["hits"] == []


def test_a_file_whose_name_looks_like_a_filter_is_searched_in(shell: Shell) -> None:
    for name in ("from:anna", "other.md"):
        shell.write(name, "Boil the carrots.\n")
    shell.run("index", shell.docs, "--quiet")
    [hit] = shell.json("search", "carrots", shell.docs / "from:anna", "--mode", "keyword")["hits"]
    assert hit["path"] == str(shell.docs / "from:anna")


def test_a_query_without_quotes_is_told_to_take_them(indexed: Shell) -> None:
    for words in (("boil", "carrots"), ("boil", "the", "carrots")):
        assert "put a query of several words in quotes" in indexed.run("search", *words, expect=2).stderr


@pytest.mark.parametrize("pattern", ["code/**", "/code/*.py", "code/", "{docs}/code/**", "!*.md"])
def test_a_glob_counts_from_the_tracked_directory(indexed: Shell, pattern: str) -> None:
    globs = ["--glob", "*", "--glob", pattern] if pattern.startswith("!") else ["--glob", pattern]
    found = indexed.json("search", "open a store of soup", *(one.format(docs=indexed.docs) for one in globs))["hits"]
    assert {hit["path"] for hit in found} == {str(indexed.docs / "code/store.py")}


def found_by(shell: Shell, *words: str) -> list[dict[str, Any]]:
    """Give what is found, how weak it may be: of three files, few words tell much."""
    hits = json.loads(shell.run("search", *words, "--json", expect=None).stdout)["hits"]
    assert isinstance(hits, list)
    return hits


def test_patterns_that_only_take_back_leave_out_and_nothing_else(indexed: Shell) -> None:
    found = found_by(indexed, "open a store of soup", "-g", "!kitchen/", "-g", "!*.py", "--all")
    assert {hit["path"] for hit in found} <= {str(indexed.docs / "ops/keys.md")}
    assert found_by(indexed, "signing keys", "-g", "!kitchen/")


def test_a_search_looks_into_several_places_and_where_somebody_stands(indexed: Shell, tmp_path: Path) -> None:
    both = found_by(indexed, "type:md OR type:py", "kitchen", "code")
    assert {Path(hit["path"]).name for hit in both} == {"soup.md", "store.py"}
    assert "not indexed" not in indexed.run("search", "signing keys", "--here", expect=None).stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outside = subprocess.run(
        [DIRINDEX, "search", "signing keys"],
        cwd=elsewhere,
        env=indexed.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"the working directory is not indexed; the answer comes from {indexed.docs}" in outside.stderr
    refused = subprocess.run(
        [DIRINDEX, "search", "keys", "--here"],
        cwd=elsewhere,
        env=indexed.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "lies in no tracked directory" in refused.stderr


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('"signing keys" OR "carrots with ginger"', {"keys.md", "soup.md"}),
        ('"signing keys" OR "no such phrase"', {"keys.md"}),
        ("(path:kitchen OR path:code) open", {"soup.md", "store.py"}),
        ("heading:soup OR heading:rotation", {"keys.md", "soup.md"}),
    ],
)
def test_one_of_several_is_enough(indexed: Shell, query: str, names: set[str]) -> None:
    hits = found_by(indexed, query, "--mode", "keyword", "--all")
    assert {Path(hit["path"]).name for hit in hits} <= names
    assert hits


def test_tests_are_left_out_on_request_and_hits_come_in_order(shell: Shell) -> None:
    shell.write("b.py", "def rotate():\n    return keys\n")
    shell.write("a.py", "def rotate_keys():\n    return keys and rotate\n")
    shell.write("tests/test_a.py", "def test_rotate():\n    assert rotate keys\n")
    os.utime(shell.docs / "a.py", (1_000_000_000, 1_000_000_000))
    shell.run("index", shell.docs, "--quiet")
    options = ("--format", "paths", "--all", "--mode", "keyword")
    assert "tests/test_a.py" in shell.run("search", "rotate keys", *options).stdout
    without = shell.run("search", "rotate keys", "--no-tests", "--sort", "path", *options).stdout
    assert without.splitlines() == ["a.py", "b.py"]
    newest = shell.run("search", "rotate keys -is:test", "--sort", "date", *options).stdout
    assert newest.splitlines() == ["b.py", "a.py"]
    assert shell.run("search", "rotate is:test", *options).stdout.splitlines() == ["tests/test_a.py"]


@pytest.mark.parametrize("pattern", ["a\\", "[z", "#"])
def test_a_glob_that_is_no_pattern_is_an_error_of_the_user(indexed: Shell, pattern: str) -> None:
    assert "pattern" in indexed.run("search", "open", "--glob", pattern, expect=2).stderr


@pytest.mark.parametrize("query", ["store path:[z", "store path:[z-a]", "store path:*\\", "store path:?["])
def test_no_query_is_wrong(indexed: Shell, query: str) -> None:
    done = indexed.run("search", query, "--mode", "keyword")
    assert "is searched for as words" in done.stderr
    assert "store.py" in done.stdout


@pytest.mark.parametrize("moment", ["9999999y", "1600-01-01"])
def test_a_moment_before_any_file_leaves_out_none(indexed: Shell, moment: str) -> None:
    assert indexed.json("search", "carrots", "--since", moment, "--mode", "keyword")["hits"]


def test_an_age_in_no_known_unit_is_refused(indexed: Shell) -> None:
    assert "neither an age nor a date" in indexed.run("search", "carrots", "--since=-7d", expect=2).stderr


def test_a_variable_that_a_script_did_not_set_is_refused(indexed: Shell) -> None:
    assert "a path is empty" in indexed.run("forget", "", expect=2).stderr
    assert indexed.json("status")["directories"]


def test_a_cursor_beyond_all_hits_finds_nothing(indexed: Shell) -> None:
    words = ("search", "carrots", "--mode", "keyword")
    first = indexed.json(*words, "--limit", "1")
    assert first["truncated"]
    following = indexed.json(*words, "--cursor", first["next_cursor"], expect=1)
    assert (following["hits"], following["next_cursor"]) == ([], None)
    for cursor in ("10000", "1", first["next_cursor"][:-1], "\udce9"):
        assert "cursor" in indexed.run(*words, "--cursor", cursor, expect=2).stderr
    assert "another query" in indexed.run("search", "soup", "--cursor", first["next_cursor"], expect=2).stderr


def test_a_run_that_was_killed_is_not_said_to_go_on(indexed: Shell) -> None:
    with DocStore(indexed.data_dir / "data.db").transaction() as transaction:
        transaction.runs.start(RunRequest(Verb.INDEX), pid=1, host="here")
    assert indexed.json("search", "carrots", "--mode", "keyword")["index"]["running"] is False
    with write_lock(indexed.data_dir / "write.lock", wait=False):
        assert indexed.json("search", "carrots", "--mode", "keyword")["index"]["running"] is True


def test_get_gives_the_very_text_of_a_file(indexed: Shell) -> None:
    path = indexed.docs / "ops/keys.md"
    assert indexed.run("get", path).stdout == path.read_text(encoding="utf-8")
    assert indexed.run("get", path, "--lines", "3-3").stdout == "## Key rotation\n"
    path.write_text("new", encoding="utf-8")
    assert "has changed since" in indexed.run("get", path).stderr


def test_get_takes_parts_of_several_files_and_numbers_their_lines(indexed: Shell) -> None:
    parts = (f"{indexed.docs}/ops/keys.md#Key rotation", f"{indexed.docs}/code/store.py:2-3")
    shown = indexed.run("get", "-N", *parts).stdout
    assert shown.split("\n") == [
        f"==> {indexed.docs}/ops/keys.md:3-5 <==",
        "     3\t## Key rotation",
        "     4\t",
        "     5\tRotate the signing keys every ninety days.",
        f"==> {indexed.docs}/code/store.py:2-3 <==",
        "     2\t    def open(self, path):",
        "     3\t        return connect(path)",
        "",
    ]
    assert [one["start_line"] for one in indexed.json("get", *parts)["texts"]] == [3, 2]
    assert "leave one of them out" in indexed.run("get", parts[1], "--lines", "1", expect=2).stderr


@pytest.mark.skipif(os.name != "posix", reason="an editor of POSIX")
@pytest.mark.parametrize(
    ("name", "editor", "arguments"),
    [
        ("a b.md", "vim", "+3 {}"),
        ("$(touch owned).md", "vim -R", "-R +3 {}"),
        ("-rf; rm x.md", "code --wait", "--wait --goto {}:3"),
        ("plain.md", "other", "{}"),
    ],
)
def test_a_hit_is_opened_in_the_editor_and_its_name_reaches_no_shell(
    shell: Shell, tmp_path: Path, name: str, editor: str, arguments: str
) -> None:
    path = shell.write(name, "# Signing\n\nRotate the signing keys.\n")
    program = tmp_path / editor.split(maxsplit=1)[0]
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$*" > {tmp_path}/opened\n')
    program.chmod(0o755)
    shell.run("index", shell.docs, "--quiet")
    shell.environ["EDITOR"] = f"{tmp_path}/{editor}"
    shell.environ.pop("VISUAL", None)
    assert shell.run("search", "signing keys", "--mode", "keyword", "-o", "1").stdout == ""
    n_arguments, opened = (tmp_path / "opened").read_text().splitlines()
    assert opened.replace(":1", ":3").replace("+1 ", "+3 ") == arguments.format(path)
    assert int(n_arguments) == len(arguments.split())
    assert not (shell.docs / "owned").exists()
    assert "there is no hit 9" in shell.run("search", "signing keys", "-o", "9", expect=2).stderr


def test_a_desktop_that_opens_nothing_is_reported_in_a_line(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "xdg-open"
    program.write_text("#!/bin/sh\necho firefox: not found >&2\nexit 3\n")
    program.chmod(0o755)
    shell.write("keys.md", "Rotate the signing keys.\n")
    shell.run("index", shell.docs, "--quiet")
    for name in ("EDITOR", "VISUAL"):
        shell.environ.pop(name, None)
    shell.environ["PATH"] = f"{tmp_path}{os.pathsep}{shell.environ['PATH']}"
    told = shell.run("search", "signing keys", "--mode", "keyword", "-o", "1", expect=3).stderr
    assert told.startswith(f"dirindex: no program opens '{shell.docs / 'keys.md'}'\n")


def test_a_directory_that_is_gone_is_named_once_in_the_note_on_it(indexed: Shell) -> None:
    gone = indexed.docs.with_name("gone")
    gone.mkdir()
    (gone / "keys.md").write_text("Old signing keys.\n")
    indexed.run("index", gone)
    shutil.rmtree(gone)
    told = indexed.run("search", "signing keys", gone).stderr.splitlines()
    assert [line.count(str(gone)) for line in told if "looked through" in line] == [1]


def test_the_desktop_is_handed_no_program_that_was_found(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "xdg-open"
    program.write_text(f"#!/bin/sh\necho > {tmp_path}/opened\n")
    program.chmod(0o755)
    shell.write("rotate.command", "#!/bin/sh\necho rotate the signing keys\n")
    shell.run("index", shell.docs, "--quiet")
    for name in ("EDITOR", "VISUAL"):
        shell.environ.pop(name, None)
    shell.environ["PATH"] = f"{tmp_path}{os.pathsep}{shell.environ['PATH']}"
    done = shell.run("search", "signing keys", "--mode", "keyword", "-o", "1", expect=2)
    assert "the desktop might execute it" in done.stderr
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    ("form", "starts"),
    [
        ("jsonl", '{"path":'),
        ("tsv", "path\tline\t"),
        ("md", "1. ["),
        ("grep", "ops/keys.md:"),
        ("paths", "ops/keys.md"),
    ],
)
def test_hits_come_in_the_form_that_is_asked_for(indexed: Shell, form: str, starts: str) -> None:
    assert indexed.run("search", "signing keys", "--format", form).stdout.startswith(starts)
    assert "exclude each other" in indexed.run("search", "keys", "--json", "--format", form, expect=2).stdout


def test_format_json_is_json(indexed: Shell) -> None:
    assert json.loads(indexed.run("search", "signing keys", "--format", "json").stdout)["hits"]


@pytest.mark.parametrize("habit", ["-n", "-rn", "-rnH", "--line-number"])
def test_grep_takes_the_options_that_fingers_type(indexed: Shell, habit: str) -> None:
    plain = indexed.run("grep", "signing keys", indexed.docs).stdout
    assert "ops/keys.md:" in plain
    assert indexed.run("grep", habit, "signing keys", indexed.docs).stdout == plain


def test_get_of_a_file_outside_the_index_says_so(indexed: Shell) -> None:
    assert "holds no text" in indexed.run("get", __file__, expect=1).stderr
    assert "there is no such file" in indexed.run("get", "nothing.md", expect=1).stderr


@pytest.mark.parametrize(("command", "code"), [("get", 1), ("outline", 1), ("similar", 2)])
def test_the_file_of_that_name_is_suggested(indexed: Shell, command: str, code: int) -> None:
    refused = indexed.run(command, "elsewhere/soup.md", expect=code).stderr
    assert f"did you mean {indexed.docs / 'kitchen/soup.md'}?" in refused


def test_similar_compares_files_that_are_not_indexed(indexed: Shell, tmp_path: Path) -> None:
    other = tmp_path / "stew.md"
    other.write_text("A stew of carrots and potatoes, cooked for hours.\n", encoding="utf-8")
    hits = indexed.json("similar", other)["hits"]
    assert hits[0]["path"] == str(indexed.docs / "kitchen/soup.md")
    path, score = indexed.run("similar", other).stdout.splitlines()[0].split("\t")
    assert path == "kitchen/soup.md"
    assert float(score) > 0.3


def test_similar_leaves_out_what_is_as_far_as_an_unrelated_file(indexed: Shell, tmp_path: Path) -> None:
    other = tmp_path / "stew.md"
    other.write_text("A stew of carrots and potatoes, cooked for hours.\n", encoding="utf-8")
    scores = [hit["score"] for hit in indexed.json("similar", other)["hits"]]
    n_others = indexed.json("status")["files"] - 1
    assert 0 < len(scores) < n_others
    assert min(scores) >= 0.3


def test_where_no_file_is_similar_the_answer_says_so(indexed: Shell, tmp_path: Path) -> None:
    other = tmp_path / "whales.md"
    other.write_text("Humpback whales migrate from polar waters to the tropics to breed.\n", encoding="utf-8")
    ended = indexed.run("similar", other, expect=1)
    assert "nothing matches well" in ended.stderr
    assert indexed.json("similar", other, expect=1)["weak"]


def test_what_tools_build_is_left_out(shell: Shell) -> None:
    shell.write("src/__pycache__/store.txt", "Written by an interpreter.\n")
    shell.write("src/tide.egg-info/top_level.txt", "tide\n")
    shell.write("src/notes.txt", "Written by a person.\n")
    shell.run("index", shell.docs, "--quiet")
    assert shell.json("status")["files"] == 1


def test_status_counts_what_is_indexed(indexed: Shell) -> None:
    status = indexed.json("status")
    assert (status["files"], status["failed"]) == (3, 0)
    assert status["chunks"] == status["embedded"] > 0
    assert "skipped_files" not in status
    assert indexed.json("status", "--verbose")["skipped_files"] == []
    assert status["run"]["chunks_done"] == status["run"]["chunks_total"] == status["chunks"]


def test_status_of_a_place_counts_the_directory_that_it_lies_in_and_no_other(indexed: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    (indexed.docs / "ops" / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    indexed.run("index", indexed.docs, other, "--quiet", expect=1)
    report = indexed.json("status", indexed.docs / "ops")
    assert [one["path"] for one in report["directories"]] == [str(indexed.docs)]
    assert (report["directories"][0]["files"], report["failed"]) == (3, 1)
    assert [one["path"] for one in report["failures"]] == [str(indexed.docs / "ops" / "broken.pdf")]
    assert len(indexed.json("status")["failures"]) == 2


def test_status_tells_of_each_directory_what_embedding_the_rest_costs(indexed: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "tide.txt").write_text("High tide is at noon, and low tide in the evening.\n", "utf-8")
    indexed.run("index", other, "--quiet", "--effort", "none")
    report = indexed.json("status")
    costs = {one["path"]: (one["tokens_to_embed"], one["seconds_to_embed"]) for one in report["directories"]}
    waiting = (report["waiting"]["tokens"], report["waiting"]["seconds"])
    assert costs == {str(indexed.docs): (0, 0), str(other): waiting}
    assert waiting > (0, 0)
    (waits,) = (row for row in indexed.run("status").stdout.splitlines() if row.startswith("waiting "))
    assert waits.endswith(f"{waiting[0]:,} tokens, about 0.0 s")


def test_lines_beyond_the_end_of_a_file_are_refused_with_its_length(indexed: Shell) -> None:
    said = indexed.run("get", indexed.docs / "ops/keys.md", "--lines", "900-", expect=2).stderr
    assert said == f"dirindex: {indexed.docs}/ops/keys.md has 5 lines; you asked for lines from 900 on\n"


def test_forget_and_index_again(indexed: Shell) -> None:
    indexed.run("forget", indexed.docs)
    assert "nothing is indexed" in indexed.run("search", "keys", expect=1).stderr
    assert indexed.json("index", indexed.docs)["added"] == 3


def test_nothing_of_a_directory_that_was_forgotten_stays_on_the_disk(shell: Shell, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for number in range(40):
        (kept / f"{number}.md").write_text(f"Something else, number {number}.\n", encoding="utf-8")
    shell.write("zyxomma/xylograph.md", "# Jylland\n\nzyzzogeton qvintus\n")
    shell.write("zyxomma/broken.pdf", "%PDF-1.7 and no more")
    shell.run("index", shell.docs, expect=1)
    shell.run("index", kept)
    shell.run("doctor", "--repair")  # moves vectors into a generation
    (shell.data_dir / "dirindex.log").write_text(f"{shell.docs}: a traceback", encoding="utf-8")
    (shell.data_dir / "data.db.damaged-20260101-000000").write_text("zyzzogeton", encoding="utf-8")
    shell.run("forget", shell.docs)
    assert not _left(shell, str(shell.docs), "zyxomma", "xylograph", "jylland", "zyzzogeton", "qvintus", *_ENDS)
    assert len(shell.json("search", "number", "-n", "100")["hits"]) == 40


def test_what_the_system_refuses_without_a_name_is_told_without_one() -> None:
    program = """
from directory_indexer.cli import command_line, main
def cli(**_: object) -> None:
    raise PermissionError(1, "Operation not permitted")
command_line.cli = cli
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (3, "dirindex: the operating system refused: Operation not permitted\n")


def test_paths_with_line_breaks_reach_xargs_as_they_are(shell: Shell) -> None:
    names = {"new\nline.md", "new\\nline.md"}
    for name in names:
        shell.write(name, f"Rotate the signing key of {name!r}.\n")
    shell.run("index", shell.docs, "--quiet")
    words = ("search", "rotate signing key", "--mode", "keyword")
    assert set(shell.run(*words, "--format", "paths", "-0").stdout.split("\0")) == {*names, ""}
    for options in (("-0",), ("-l", "-0"), ("--null", shell.docs)):
        assert set(map(os.path.basename, shell.run("grep", "signing", *options).stdout.split("\0"))) == {*names, ""}
    assert shell.run("grep", "signing", "-L0", expect=1).stdout == ""
    assert "--null is for paths alone" in shell.run("grep", "signing", "-0c", expect=2).stderr
    assert "--null is for paths alone" in shell.run(*words, "--format", "tsv", "-0", expect=2).stderr
    assert "--null is for paths alone" in shell.run(*words, "--json", "--null", expect=2).stdout


def test_forget_says_what_it_cannot_remove(indexed: Shell) -> None:
    (indexed.data_dir / "dirindex.log").mkdir()
    (indexed.data_dir / "data.db.damaged-20260101-000000").mkdir()
    said = indexed.run("forget", indexed.docs).stderr
    assert "is no longer tracked" in said
    assert f"'{indexed.data_dir}/dirindex.log' cannot be removed, and may name its files: " in said
    assert f"'{indexed.data_dir}/data.db.damaged-20260101-000000' cannot be removed" in said


def test_forget_says_when_another_command_still_reads_what_was_forgotten(indexed: Shell) -> None:
    said = "another command is reading the index; what it still holds on to leaves the disk with the next run"
    with DocStore(indexed.data_dir / "data.db").snapshot() as snapshot:
        assert snapshot.directories.all()
        assert said in indexed.run("forget", indexed.docs).stderr
    indexed.run("index", indexed.docs)
    assert said not in indexed.run("forget", indexed.docs).stderr


_ENDS = ("zzogeton", "lograph")
"""Of two words: the full-text index leaves out what a word has in common with the one before it."""


def _left(shell: Shell, *texts: str) -> list[tuple[Path, str]]:
    """Give what of the texts is in some file of the index."""
    contents = {path: path.read_bytes().lower() for path in shell.data_dir.rglob("*") if path.is_file()}
    return [(path, text) for text in texts for path, content in contents.items() if text.lower().encode() in content]


def test_words_of_a_deleted_file_leave_the_disk_a_day_later(shell: Shell) -> None:
    for number in range(40):
        shell.write(f"{number}.md", f"Something else, number {number}.\n")
    deleted = shell.write("z.md", "zyzzogeton\n")
    changed = shell.write("x.md", "xylograph\n")
    shell.run("index", shell.docs)
    deleted.unlink()
    changed.write_text("yesterday\n", encoding="utf-8")
    shell.run("index")
    assert _left(shell, *_ENDS)
    _let_removals_be_older(shell, seconds=86_000)
    shell.run("index")
    assert _left(shell, *_ENDS)
    _let_removals_be_older(shell, seconds=500)
    shell.run("index")
    assert not _left(shell, *_ENDS)
    assert not shell.json("search", "zyzzogeton", "-m", "keyword", expect=1)["hits"]
    assert len(shell.json("search", "number", "-m", "keyword", "-n", "100")["hits"]) == 40


def test_the_doctor_drops_the_words_of_deleted_files_at_once(shell: Shell) -> None:
    shell.write("a.md", "Something else.\n")
    deleted = shell.write("z.md", "zyzzogeton\n")
    shell.run("index", shell.docs)
    deleted.unlink()
    shell.run("index")
    shell.run("doctor", "--repair")
    assert not _left(shell, *_ENDS)


def _let_removals_be_older(shell: Shell, *, seconds: int) -> None:
    with contextlib.closing(sqlite3.connect(shell.data_dir / "data.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = value - ? WHERE key = 'words_removed_at'", (seconds,))


def test_doctor_finds_a_healthy_index_healthy(indexed: Shell) -> None:
    verdicts = {check["verdict"] for check in indexed.json("doctor")["findings"]}
    assert verdicts == {"ok"}


def test_doctor_makes_lost_vectors_again(indexed: Shell) -> None:
    indexed.run("doctor", "--repair")
    for path in (indexed.data_dir / "qdrant").rglob("*"):
        if path.is_file():
            path.unlink()
    assert "problem" in {check["verdict"] for check in indexed.json("doctor", expect=3)["findings"]}
    indexed.run("doctor", "--repair")
    hits = indexed.json("search", "how often do we change credentials", "--mode", "semantic")["hits"]
    assert hits[0]["path"] == str(indexed.docs / "ops/keys.md")


def test_doctor_finds_vectors_that_have_changed_on_the_disk_and_makes_them_again(indexed: Shell) -> None:
    indexed.run("doctor", "--repair")
    matrix = max((indexed.data_dir / "qdrant").rglob("*.dat"), key=lambda path: path.stat().st_size)
    content = bytearray(matrix.read_bytes())
    content[0] ^= 1
    matrix.write_bytes(content)
    assert "damaged" in indexed.run("doctor", expect=3).stdout
    indexed.run("doctor", "--repair")
    indexed.run("doctor")


@pytest.mark.parametrize(
    ("damage", "verdict"),
    [
        ("UPDATE chunks_fts_data SET block = substr(block, 1, 20) WHERE id > 10", "problem"),
        pytest.param("DELETE FROM chunks_fts_docsize", "problem", marks=pytest.mark.slow),
        # The header of a page is of no use for reading it, and only found to be wrong when FTS5 checks all.
        ("UPDATE chunks_fts_data SET block = x'0100' || substr(block, 3) WHERE id > 10", "ok"),
    ],
)
def test_doctor_builds_damaged_words_again(indexed: Shell, damage: str, verdict: str) -> None:
    def words(expect: int = 0) -> str:
        found = indexed.json("doctor", expect=expect)["findings"]
        return str(next(one["verdict"] for one in found if one["check"] == "words"))

    indexed.run("doctor", "--repair")
    with contextlib.closing(sqlite3.connect(indexed.data_dir / "data.db")) as connection:
        connection.execute(damage)
        connection.commit()
    assert words(expect=3 if verdict == "problem" else 0) == verdict
    assert "the full-text index was built again" in indexed.run("doctor", "--repair").stdout
    assert words() == "ok"
    hits = indexed.json("search", "signing keys", "--mode", "keyword")["hits"]
    assert hits[0]["path"] == str(indexed.docs / "ops/keys.md")
    assert "built again" not in indexed.run("doctor", "--repair").stdout


def _overwrite(database: Path) -> None:
    database.write_bytes(b"this is not a database" * 1000)


def _break_letters(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE meta SET value = CAST(x'ff' || value AS TEXT) WHERE key = 'fingerprint'")
        connection.commit()


@pytest.mark.parametrize("damage", [_overwrite, _break_letters])
def test_a_damaged_database_is_set_aside_on_request(indexed: Shell, damage: Callable[[Path], None]) -> None:
    damage(indexed.data_dir / "data.db")
    assert "doctor --repair" in indexed.run("search", "keys", expect=3).stderr
    assert "problem" in {one["verdict"] for one in indexed.json("doctor", expect=3)["findings"]}
    indexed.run("doctor", "--repair")
    indexed.run("index", indexed.docs)
    assert indexed.json("search", "rotate keys")["hits"]
    assert list(indexed.data_dir.glob("data.db.damaged-*"))


@pytest.mark.parametrize(
    "version",
    [
        0,
        *(pytest.param(version, marks=pytest.mark.slow) for version in range(1, SCHEMA.version - 1)),
        SCHEMA.version - 1,
    ],
)
def test_an_intact_database_that_says_it_is_older_answers(indexed: Shell, version: int) -> None:
    _set_version(indexed.data_dir / "data.db", version)
    assert indexed.json("search", "signing keys", "-m", "keyword")["hits"]
    assert indexed.json("index")["unchanged"] == 3
    assert all(one["verdict"] == "ok" for one in indexed.json("doctor")["findings"])


def test_a_database_whose_tables_are_of_no_version_is_set_aside_on_request(indexed: Shell) -> None:
    with contextlib.closing(sqlite3.connect(indexed.data_dir / "data.db")) as connection:
        connection.execute("ALTER TABLE runs RENAME COLUMN outcome TO income")
    _set_version(indexed.data_dir / "data.db", 0)
    assert "doctor --repair" in indexed.run("status", expect=3).stderr
    indexed.run("doctor", "--repair")
    assert indexed.json("index", indexed.docs)["added"] == 3


def test_a_database_of_another_program_is_left_alone(shell: Shell) -> None:
    shell.data_dir.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(shell.data_dir / "data.db")) as connection:
        connection.execute("CREATE TABLE files (secret TEXT)")
    for words in (["index", shell.docs], ["status"], ["doctor"], ["doctor", "--repair"]):
        said = shell.run(*words, expect=3).stderr
        assert "another program" in said
        assert "--data-dir" in said


def _set_version(database: Path, version: int) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("name", ["qdrant", "qdrant/directory-indexer"])
def test_a_file_in_the_place_of_the_vectors_is_renamed_on_request(indexed: Shell, name: str) -> None:
    place = indexed.data_dir / name
    if place.exists():
        shutil.rmtree(place)
    place.parent.mkdir(exist_ok=True, mode=0o700)
    place.write_text("mine", encoding="utf-8")
    assert "doctor --repair" in indexed.run("doctor", expect=3).stdout
    indexed.run("doctor", "--repair")
    assert indexed.run("doctor").returncode == 0
    assert [one.read_text(encoding="utf-8") for one in place.parent.glob(f"{place.name}.damaged-*")] == ["mine"]
    assert indexed.json("search", "carrots", "-m", "semantic")["hits"]


def test_an_index_of_a_newer_version_is_left_alone(indexed: Shell) -> None:
    with sqlite3.connect(indexed.data_dir / "data.db") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert "newer dirindex" in indexed.run("search", "keys", expect=3).stderr


@pytest.mark.parametrize(
    "words", [["search", "keys"], ["status"], ["doctor", "--repair"], ["get", "a.md"], ["forget", "."]]
)
def test_a_command_that_reads_makes_no_index(shell: Shell, words: list[str]) -> None:
    elsewhere = shell.docs / "nothing"
    said = shell.run(*words, "--data-dir", elsewhere, expect=1).stderr
    assert f"there is no index in '{elsewhere}'" in said
    assert "dirindex index PATH" in said
    assert not elsewhere.exists()


def test_the_doctor_tries_the_provider_before_there_is_an_index(shell: Shell) -> None:
    elsewhere = shell.docs / "nothing"
    said = shell.run("doctor", "--data-dir", elsewhere).stdout
    assert "there is no index yet" in said
    assert "all-MiniLM-L6-v2 answers" in said
    assert not elsewhere.exists()


def test_a_bug_is_reported_to_the_index_that_was_named(shell: Shell) -> None:
    code = "from directory_indexer import app, cli; app.App.status = None; cli.main()"
    shell.run("index", shell.docs, "--quiet")
    words: list[str | Path] = [sys.executable, "-c", code, "status", "--data-dir", shell.data_dir]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert str(shell.data_dir / "dirindex.log") in done.stderr
    assert "AttributeError" in (shell.data_dir / "dirindex.log").read_text(encoding="utf-8")


def test_every_mistake_of_a_configuration_is_told_at_once(shell: Shell) -> None:
    config = shell.write("config.json", '{"indexing": {"chunk_size": "big", "chunk_sise": 3}, "storrage": {}}')
    errors = shell.run("status", "--config", config, expect=2).stderr
    assert all(name in errors for name in ("chunk_size", "chunk_sise", "storrage"))


def test_an_error_is_an_object_where_json_is_asked_for(shell: Shell) -> None:
    config = shell.write("config.json", '{"indexing": {"chunk_sise": 3}}')
    error = shell.json("status", "--config", config, expect=2)
    assert "chunk_sise" in error["error"]
    assert error["exit_code"] == 2
    shell.write("note.md", "one\n")
    shell.run("index", shell.docs, "--quiet")
    assert shell.json("get", shell.docs / "nowhere.md", expect=1)["error"].endswith("nowhere.md")
    error = json.loads(shell.run("search", "one", shell.docs / "nowhere", "--format", "json", expect=1).stdout)
    assert error["exit_code"] == 1


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("search", "x", "--limit", "many"), "dirindex search"),
        (("search",), "dirindex search"),
        (("status", "--verbse"), "dirindex status"),
        (("serch", "x"), "dirindex"),
    ],
)
def test_a_mistake_in_the_command_line_is_an_object_where_json_is_asked_for(
    shell: Shell, words: tuple[str, ...], command: str
) -> None:
    error = shell.json(*words, expect=2)
    assert error["error"]
    assert error["hint"] == f"{command} --help shows its arguments"
    assert error["exit_code"] == 2
    assert shell.run(*words, expect=2).stdout == ""


def test_the_index_is_private(indexed: Shell) -> None:
    assert indexed.data_dir.stat().st_mode & 0o777 == 0o700
    for path in indexed.data_dir.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_dry_run_shows_the_plan_and_writes_nothing(shell: Shell) -> None:
    shell.write("a.md", "text")
    plan = shell.json("index", shell.docs, "--dry-run")
    assert [change["action"] for change in plan["changes"]] == ["add"]
    assert not list(shell.data_dir.glob("*"))
    assert "there is no index" in shell.run("search", "text", expect=1).stderr


def test_failed_files_give_exit_code_1_and_are_listed(shell: Shell) -> None:
    shell.write("broken.ipynb", '{"cells": [')
    shell.write("fine.md", "all is well")
    report = shell.json("index", shell.docs, expect=1)
    assert [Path(failure["path"]).name for failure in report["failures"]] == ["broken.ipynb"]
    assert report["added"] == 1
    assert shell.json("status")["failures"]


def test_hostile_names_are_shown_harmless_and_kept_exact_in_json(shell: Shell) -> None:
    name = "evil\x1b[31m\nname.md"
    shell.write(name, "carrots and ginger")
    shell.run("index", shell.docs)
    assert "\x1b" not in shell.run("search", "carrots").stdout
    assert len(shell.run("search", "carrots").stdout.splitlines()) == 1
    assert shell.json("search", "carrots")["hits"][0]["path"] == str(shell.docs / name)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes any byte in a name")
def test_a_name_that_reads_backwards_is_shown_as_it_is_stored(shell: Shell) -> None:
    path = shell.write("invoice\u202efdp.md", "carrots \u2066and\u2069 ginger")
    shell.run("index", shell.docs)
    row = shell.run("search", "carrots").stdout
    assert r"invoice\u202efdp.md" in row
    assert r"carrots \u2066and\u2069 ginger" in row
    assert shell.json("search", "carrots")["hits"][0]["path"] == str(path)
    assert shell.run("get", path).stdout == "carrots \u2066and\u2069 ginger\n"


def test_a_name_that_is_not_utf8_is_indexed_found_and_read(shell: Shell) -> None:
    path = os.fsencode(shell.docs) + b"/caf\xe9.md"
    Path(os.fsdecode(path)).write_text("carrots and ginger", encoding="utf-8")
    shell.run("index", shell.docs)
    found = shell.json("search", "carrots")["hits"][0]["path"]
    assert found.encode().endswith("/caf\U0010dce9.md".encode())
    for name in (found, os.fsdecode(path)):
        assert shell.run("get", name).stdout == "carrots and ginger\n"
        assert shell.json("get", name)["path"] == found


def test_help_lists_every_command(shell: Shell) -> None:
    text = shell.run("--help").stdout
    assert all(
        name in text for name in ("index", "search", "similar", "get", "status", "serve", "forget", "doctor", "export")
    )


@pytest.mark.parametrize(
    ("words", "offered"), [(("sea",), "search"), (("search", "--mo"), "--mode"), (("config", "in"), "init")]
)
def test_the_shell_completes_commands_and_their_options(shell: Shell, words: tuple[str, ...], offered: str) -> None:
    shell.environ |= {
        "_DIRINDEX_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("dirindex", *words)),
        "COMP_CWORD": str(len(words)),
    }
    assert offered in shell.run().stdout.split()


@pytest.mark.parametrize("words", [("search",), ("--", "search"), ("config",), ("config", "init")])
def test_each_command_explains_its_options(shell: Shell, words: tuple[str, ...]) -> None:
    assert "--data-dir" in shell.run(*words, "--help").stdout


def test_a_misspelt_command_is_told_from_those_that_there_are(shell: Shell) -> None:
    assert "'search'" in shell.run("serach", "keys", expect=2).stderr


def test_search_and_help_load_no_library_that_they_do_not_need(indexed: Shell) -> None:
    script = (
        "import sys; sys.argv[:] = sys.argv[1:]\n"
        "from directory_indexer.cli.command_line import cli\n"
        "try: cli()\n"
        "except SystemExit: pass\n"
        "heavy = {'onnxruntime', 'qdrant_edge', 'pymupdf', 'mcp', 'rich', 'tree_sitter', 'pydantic', 'numpy'}\n"
        "heavy |= {'sqlite_utils', 'directory_indexer.cli.commands.serve', 'directory_indexer.ocr'}\n"
        "heavy |= {f'directory_indexer.formats.{name}' for name in ('html', 'markup', 'structured')}\n"
        "print('loaded:', *sorted(heavy & set(sys.modules)))"
    )

    def loaded(*words: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", script, "dirindex", *words],
            capture_output=True,
            check=True,
            encoding="utf-8",
            env=indexed.environ,
        )
        return set(done.stdout.rpartition("loaded:")[2].split())

    assert loaded("--version") == set()
    assert loaded("--help") == {"directory_indexer.cli.commands.serve"}
    assert loaded("search", "keys", "--mode", "keyword") == set()
    assert loaded("search", "keys", "--mode", "keyword", "--json") == set()
    assert loaded("search", "keys", "--facets", "--json") == set()
    indexed.write("notes.txt", "Rotate the keys.")
    assert not {one for one in loaded("index", "--quiet") if "formats" in one or "ocr" in one}
    assert not loaded("status") & {"onnxruntime", "pymupdf", "mcp", "tree_sitter"}


@pytest.mark.slow
def test_a_run_with_nothing_to_do_loads_no_numpy_while_chunks_wait(shell: Shell) -> None:
    shell.environ["DIRINDEX_INDEXING__EMBEDDING"] = "on-demand"
    for number in range(600):
        shell.write(f"{number}.md", f"# Note {number}\n\nA ferry leaves at {number} in the morning.\n")
    shell.run("index", shell.docs)
    script = (
        "import os, sys; sys.argv[:] = sys.argv[1:]; end = os._exit\n"
        "def tell(code): print('loaded:', *{'numpy', 'onnxruntime'} & set(sys.modules), flush=True); end(code)\n"
        "os._exit = tell\n"
        "from directory_indexer.cli import main; main()"
    )
    words = [sys.executable, "-c", script, "dirindex", "index"]
    done = subprocess.run(words, capture_output=True, check=True, encoding="utf-8", env=shell.environ)
    assert " waiting" in done.stdout
    assert done.stdout.rpartition("loaded:")[2].split() == []


def test_grep_loads_no_library_for_command_lines_and_nothing_that_ranks_or_indexes(indexed: Shell) -> None:
    script = (
        "import os, sys; sys.argv[:] = sys.argv[1:]; end = os._exit\n"
        "heavy = {'typer', 'rich', 'numpy', 'platform', 'directory_indexer.indexing.updater'}\n"
        "heavy |= {'directory_indexer.ranking.query', 'directory_indexer.embedding.loading'}\n"
        "def tell(code): print('loaded:', *heavy & set(sys.modules), flush=True); end(code)\n"
        "os._exit = tell\n"
        "from directory_indexer.cli import main; main()"
    )
    words = [sys.executable, "-c", script, "dirindex", "grep", "-i", "keys"]
    done = subprocess.run(words, capture_output=True, check=True, encoding="utf-8", env=indexed.environ)
    assert done.stdout.rpartition("loaded:")[2].split() == []


def test_a_search_by_words_loads_no_module_that_it_does_not_need(indexed: Shell) -> None:
    script = (
        "import os, sys; sys.argv[:] = sys.argv[1:]; end, before = os._exit, set(sys.modules)\n"
        "heavy = {'typer', 'numpy', 'inspect', 'subprocess', 'shutil', 'tempfile', 'random', 'secrets', 'weakref'}\n"
        "heavy |= {'difflib', 'textwrap', 'string', 'locale', 'dataclasses', 'directory_indexer.search.grep'}\n"
        "def tell(code): print('loaded:', *heavy & set(sys.modules) - before, flush=True); end(code)\n"
        "os._exit = tell\n"
        "from directory_indexer.cli import main; main()"
    )
    words = [sys.executable, "-c", script, "dirindex", "search", "--mode", "keyword", "--no-server", "keys"]
    done = subprocess.run(words, capture_output=True, check=True, encoding="utf-8", env=indexed.environ)
    assert done.stdout.rpartition("loaded:")[2].split() == []


def test_the_index_its_log_and_its_settings_lie_in_no_index(shell: Shell) -> None:
    data_dir = shell.docs / "index"
    shell.write("notes.md", "About penguins.\n")
    shell.write("index/config.json", '{"embedding": {"api_key": "penguin-key"}, "serving": {}}')
    shell.write("index/dirindex.log", "penguins in a log\n")
    shell.write("index/deep/notes.md", "About penguins.\n")
    command = (sys.executable, "-m", "directory_indexer", "index", shell.docs, "--quiet", "--data-dir", data_dir)
    subprocess.run(command, check=True, timeout=100, cwd=shell.docs.parent)
    with contextlib.closing(sqlite3.connect(data_dir / "data.db")) as database:
        paths = [row[0] for row in database.execute("SELECT path FROM files")]
    assert paths == [str(shell.docs / "notes.md")]


def test_an_index_in_the_very_directory_that_it_indexes_leaves_itself_out(shell: Shell) -> None:
    shell.write("notes.md", "About penguins.\n")
    shell.write("config.json", '{"embedding": {"api_key": "penguin-key"}}')
    shell.write("dirindex.log", "penguins in a log\n")
    command = (sys.executable, "-m", "directory_indexer", "index", shell.docs, "--quiet", "--data-dir", shell.docs)
    for _ in range(2):
        subprocess.run(command, check=True, timeout=100, cwd=shell.docs.parent)
    with contextlib.closing(sqlite3.connect(shell.docs / "data.db")) as database:
        paths = [row[0] for row in database.execute("SELECT path FROM files")]
    assert paths == [str(shell.docs / "notes.md")]


def test_a_date_that_no_database_can_hold_stops_nothing(shell: Shell) -> None:
    for name, seconds in (("far.md", 10_413_792_000), ("long-ago.md", -12_000_000_000), ("now.md", None)):
        file = shell.write(name, f"About penguins, {name}.\n")
        if seconds is not None:
            os.utime(file, (seconds, seconds))
    shell.run("index", shell.docs, "--quiet")
    assert shell.json("index")["unchanged"] == 3
    assert len(shell.json("search", "penguins", "--since", "2020-01-01")["hits"]) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes any byte in a name")
def test_a_directory_whose_name_is_no_unicode_can_be_indexed_watched_and_forgotten(shell: Shell) -> None:
    directory = Path(os.fsdecode(os.fsencode(shell.docs) + b"/caf\xe9"))
    directory.mkdir(parents=True)
    (directory / "a.md").write_text("About penguins.\n")
    shell.run("index", directory, "--quiet")
    assert shell.json("status")["directories"][0]["path"] == file_path(directory)
    assert shell.json("search", "penguins", directory)["hits"][0]["path"] == file_path(directory / "a.md")
    directory.rename(shell.docs / "elsewhere")
    shell.run("index", "--quiet", expect=3)
    shell.run("forget", directory)


def test_secrets_that_were_wanted_and_are_not_any_more_leave_the_index(shell: Shell) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    shell.write("notes.md", f"Log in with {token} and nothing else. {'Penguins live in the south. ' * 9}\n")
    shell.environ["DIRINDEX_INDEXING__INCLUDE_SECRETS"] = "true"
    shell.run("index", shell.docs, "--quiet")
    assert token in shell.run("get", "notes.md").stdout
    del shell.environ["DIRINDEX_INDEXING__INCLUDE_SECRETS"]
    shell.run("index", "--quiet")
    assert token not in shell.run("get", "notes.md").stdout
    assert shell.json("status")["masked"] == 1


def test_whoever_reads_no_further_is_no_error(shell: Shell) -> None:
    large = shell.write("large.txt", "word after word after word\n" * 6_000)
    shell.run("index", shell.docs, "--quiet")
    for words in (("get", large), ("export", "-", "-f", "jsonl")):
        with subprocess.Popen(
            [DIRINDEX, *words], env=shell.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.readline()
            running.stdout.close()
            assert running.stderr.read() == b""
            assert running.wait(timeout=60) == 0
