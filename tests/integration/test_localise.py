"""Commits become questions, and the place of the file that each changed is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from evaluation.commits import is_source, tasks
from evaluation.localise import found_at
from evaluation.rivals import Ripgrep, Row, keywords

SCRIPT = Path(__file__).parents[2] / "scripts" / "eval"


def git(repository: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", "-C", str(repository), *identity, *arguments), check=True, capture_output=True)


def commit(repository: Path, subject: str, **files: str) -> None:
    for name, text in files.items():
        path = repository / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", subject)


KEYS = "def rotate(keys):\n    '''Replace the signing keys by new ones.'''\n    return [make_key() for _ in keys]\n"
PAGES = "def draw(page):\n    '''Draw a page of the calendar on the screen.'''\n    return page.pixels()\n"
NOTES = "Rotation of signing keys is described here, and how often the signing keys are replaced.\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("history") / "shop.git"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    commit(place, "Begin with keys and pages", src__keys_dot_py=KEYS, src__pages_dot_py=PAGES, notes_dot_md=NOTES)
    commit(place, "Replace signing keys one by one (#12)", src__keys_dot_py=f"{KEYS}\n", tests__test_keys_dot_py=KEYS)
    commit(place, "Draw the calendar without flicker", src__pages_dot_py=f"{PAGES}\n", notes_dot_md=f"{NOTES}\n")
    commit(place, "Too few words", src__pages_dot_py=f"{PAGES}\n\n")
    commit(place, "Change two files at the same time", src__keys_dot_py=KEYS, src__pages_dot_py=PAGES)
    commit(place, "Run the linter over all pages", src__pages_dot_py=f"{PAGES}#\n")
    commit(place, "Write down when keys are replaced", notes_dot_md=NOTES)
    commit(place, "Add a file for the orders", src__orders_dot_py="ORDERS = []\n")
    git(place, "checkout", "-q", "-b", "side", "HEAD~3")
    commit(place, "Let pages be drawn twice as fast", src__pages_dot_py=f"{PAGES}# side\n")
    git(place, "checkout", "-q", "main")
    git(place, "merge", "-q", "-s", "ours", "-m", "Merge what draws pages twice as fast", "side")
    return place


def test_only_commits_that_change_one_source_file_and_say_what_for_are_asked_for(repository: Path) -> None:
    found = {task.subject: (task.path, task.is_named) for task in tasks(repository, at_most=10)}
    assert found == {
        "Replace signing keys one by one": ("src/keys.py", True),
        "Draw the calendar without flicker": ("src/pages.py", False),
        "Let pages be drawn twice as fast": ("src/pages.py", True),
    }


def test_of_more_commits_the_newest_are_taken_and_the_oldest_is_asked_for_first(repository: Path) -> None:
    every = tasks(repository, at_most=10)
    assert tasks(repository, at_most=2) == every[-2:]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("src/keys.py", True),
        ("latest.go", True),
        ("lib/contest.rb", True),
        ("README.md", False),
        ("tests/keys.py", False),
        ("keys_test.go", False),
        ("src/KeysTest.java", False),
        ("docs/conf.py", False),
        ("examples/shop.py", False),
    ],
)
def test_tests_and_documentation_are_no_source(path: str, is_one: bool) -> None:  # noqa: FBT001 - a column of a table
    assert is_source(path) is is_one


def test_tokens_count_until_the_file_is_on_screen() -> None:
    rows = [Row("a.py", "x" * 7), Row("a.py", "x" * 7), Row("b.py", "x" * 7), Row("c.py", "x" * 7)]
    assert found_at("b.py", rows) == (2, 6.0)
    assert found_at("d.py", rows) == (None, 25_000)


def test_a_question_has_words_that_say_something() -> None:
    assert keywords("Fix the rotation of the signing keys, and `rotate_all`") == [
        *("rotation", "signing", "keys", "rotate_all"),
    ]


@pytest.mark.skipif(not Ripgrep.is_installed(), reason="ripgrep is not installed")
def test_rare_words_count_more_than_many(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.py").write_text("common words\n")
    (tmp_path / "e.py").write_text("rotation\n")
    ripgrep = Ripgrep(tmp_path)
    assert ripgrep.rare_words("common rotation")[0] == Row("e.py", "e.py\n1:rotation\n")
    assert ripgrep.distinct_words("common words rotation")[0].path == "a.py"


@pytest.mark.slow
def test_a_repository_is_measured(repository: Path, tmp_path: Path) -> None:
    command = (sys.executable, str(SCRIPT), "localise", "--data-dir", str(tmp_path), "--commits", "10", str(repository))
    written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "shop.git: 3 questions" in written
    (own,) = [line.split() for line in written.splitlines() if line.startswith("  dirindex  ")]
    assert own[1:4] == ["1.000", "1.000", "1.000"]
    assert 0 < float(own[4]) < 25_000
