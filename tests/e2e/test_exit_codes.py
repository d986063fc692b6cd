"""Each row of the table of exit codes and streams, run as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from shells import Shell

DOCUMENT = Path(__file__).parents[2] / "docs" / "json.md"
ROW = re.compile(r"^\| `(.+?)` \| (\d) \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = ROW.findall(DOCUMENT.read_text("utf-8").partition("## Exit codes and streams")[2])
NOTHING = "\u2013"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    place = tmp_path_factory.mktemp("exit-codes")
    shell = Shell(place, place)
    shell.environ["DIRINDEX_INDEXING__EMBEDDING"] = "off"
    shell.environ["DIRINDEX_SEARCHING__REFRESH_MS"] = "0"
    shell.write("note.txt", "The carrots are in the cellar.\n")
    shell.run("index", shell.docs)
    return shell


def assert_said(text: str, promised: str) -> None:
    if promised == NOTHING:
        assert not text
    elif promised.startswith("`"):
        assert promised.strip("`") in text
    else:
        assert text


@pytest.mark.parametrize(("command", "code", "output", "messages"), ROWS)
def test_a_command_ends_as_the_table_says(shell: Shell, command: str, code: str, output: str, messages: str) -> None:
    words = shlex.split(command.replace("NOTE", str(shell.docs / "note.txt")).replace("(", r"\("))
    done = shell.run(*words, expect=int(code))
    assert_said(done.stdout, output)
    assert_said(done.stderr, messages)


def test_the_table_has_rows() -> None:
    assert len(ROWS) > 20
