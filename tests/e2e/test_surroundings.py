"""The installed command where something that it takes for granted is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from shells import DIRINDEX, Shell

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell is that of POSIX")

_COMMANDS = (
    "index",
    "search carrots -m keyword",
    "status",
    "get soup.md",
    "config",
    "index --dry-run",
    "--help",
    "--version",
)

_LINES = [
    pytest.param(f"{command}{form}", marks=[pytest.mark.slow] if form and command != "status" else [])
    for command in _COMMANDS
    for form in ("", " --json")
    if not (form and command.startswith("--"))
]
"""The same code writes the JSON of all commands; that of one is enough for most days."""

_FULL = "/dev/full" if os.path.exists("/dev/full") else "/dev/null"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    place = tmp_path_factory.mktemp("place")
    shell = Shell(place, place / "home")
    shell.write("soup.md", "Boil the carrots with ginger.\n")
    shell.run("index", shell.docs, "--quiet")
    return shell


def run(shell: Shell, line: str, *, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Have a shell run a line in which D is the command."""
    return subprocess.run(
        ["/bin/sh", "-c", line.replace("D ", f"'{DIRINDEX}' ")],
        capture_output=True,
        check=False,
        cwd=cwd or shell.docs,
        encoding="utf-8",
        env={**shell.environ, **environ},
        timeout=100,
    )


@pytest.mark.parametrize("command", _LINES)
@pytest.mark.parametrize(
    "output",
    [
        pytest.param(">&-", marks=pytest.mark.slow),
        pytest.param(
            "> /dev/full", marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
        ),
    ],
)
def test_an_output_that_cannot_be_written_is_said_in_one_line(shell: Shell, command: str, output: str) -> None:
    done = run(shell, f"D {command} {output}")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1].startswith("dirindex: standard output ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", _LINES)
@pytest.mark.parametrize(
    "messages",
    [pytest.param("2>&-", marks=pytest.mark.slow), f"2> {_FULL}", pytest.param("2>&- <&-", marks=pytest.mark.slow)],
)
def test_messages_that_nobody_can_read_change_nothing(shell: Shell, command: str, messages: str) -> None:
    done = run(shell, f"D {command} {messages}")
    assert (done.returncode, done.stdout != "", done.stderr) == (0, True, "")


@pytest.mark.parametrize(("command", "code"), [("status /", 1), ("nonsense", 2), ("search", 2)])
@pytest.mark.parametrize("streams", [">&- 2>&-", "2>&-", ">&-"])
def test_the_exit_code_of_an_error_needs_nobody_to_tell_it(shell: Shell, command: str, code: int, streams: str) -> None:
    assert run(shell, f"D {command} {streams}").returncode == code


def test_a_run_whose_output_is_closed_indexes_all_the_same(shell: Shell) -> None:
    shell.write("stew.md", "A stew of marrows.\n")
    assert run(shell, "D index --quiet >&- 2>&- <&-").returncode == 0
    assert shell.json("search", "marrows", "-m", "keyword")["hits"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are Unicode")
@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "Dice the turnips, 漢字 \N{POT OF FOOD}."),
        ("latin-1", "Dice the turnips, \\u6f22\\u5b57 \\U0001f372."),
    ],
)
def test_an_output_without_some_characters_shows_the_others(
    tmp_path: Path, shell: Shell, encoding: str, shown: str
) -> None:
    name = os.fsencode(shell.docs) + b"/pur\xe9e.md"
    with open(name, "w", encoding="utf-8") as file:
        file.write("Dice the turnips, 漢字 \N{POT OF FOOD}.\n")
    shell.run("index", shell.docs, "--quiet")
    # As in a locale of that encoding, such as en_US.UTF-8.
    strictly = f"PYTHONIOENCODING={encoding}:strict"
    assert run(shell, f"{strictly} D search turnips -m keyword > {tmp_path}/shown").returncode == 0
    found = (tmp_path / "shown").read_text(encoding="utf-8", errors="surrogateescape")
    assert found.startswith("pur\udce9e.md:1\t")
    assert found.endswith(f"\t{shown}\n")


@pytest.mark.parametrize(
    "command",
    ["index .", "search carrots .", "status .", "get soup.md", "similar soup.md", "forget .", "status --data-dir data"],
)
def test_a_working_directory_that_is_gone_is_said_to_be(shell: Shell, tmp_path: Path, command: str) -> None:
    done = run(shell, f"mkdir gone && cd gone && rmdir ../gone && D {command}", cwd=tmp_path)
    assert done.returncode == 2
    assert "the working directory no longer exists" in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("command", ["index", "search carrots -m keyword", "status", "config", "doctor"])
def test_what_names_no_path_needs_no_working_directory(shell: Shell, tmp_path: Path, command: str) -> None:
    assert run(shell, f"mkdir gone && cd gone && rmdir ../gone && D {command}", cwd=tmp_path).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="it is about /proc")
@pytest.mark.parametrize(("home", "code"), [("/proc", 3), ("/dev/null", 2)])
def test_a_home_in_which_nothing_can_be_made_is_named(shell: Shell, home: str, code: int) -> None:
    done = run(shell, "D index .", HOME=home, DIRINDEX_DATA_DIR="")
    assert done.returncode == code
    assert f"{home}/.directory-indexer" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_in_the_place_of_a_directory_of_the_index_is_named(shell: Shell, tmp_path: Path) -> None:
    here = str(tmp_path / "index")
    assert run(shell, "D collection create birds", DIRINDEX_DATA_DIR=here).returncode == 0
    birds = tmp_path / "index" / "team" / "collections" / "birds"
    birds.parent.mkdir()
    birds.touch()

    done = run(shell, "D collection list", DIRINDEX_DATA_DIR=here)

    assert (done.returncode, done.stderr) == (3, f"dirindex: the operating system refused '{birds}': File exists\n")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
@pytest.mark.parametrize(
    "kilobytes",
    [pytest.param(60_000, marks=pytest.mark.slow), 90_000, pytest.param(150_000, marks=pytest.mark.slow), 200_000],
)
@pytest.mark.parametrize("command", ["similar soup.md", "doctor", "search carrots -m semantic", "index --force"])
def test_too_little_memory_is_said_to_be(shell: Shell, kilobytes: int, command: str) -> None:
    done = run(shell, f"ulimit -v {kilobytes}; D {command}")
    assert done.returncode == 3 or (command.startswith("index") and done.returncode == 1)
    assert "memory" in done.stdout + done.stderr or "cannot be loaded" in done.stderr or "cannot load" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
@pytest.mark.parametrize("kilobytes", [60_000, 90_000, 150_000])
def test_words_answer_where_the_model_finds_no_memory(shell: Shell, kilobytes: int) -> None:
    done = run(shell, f"ulimit -v {kilobytes}; D search carrots --json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["hits"]
    assert any("not enough memory" in note for note in json.loads(done.stdout)["notes"])


@pytest.mark.parametrize(("command", "code"), [("search carrots", 0), ("index --quiet", 3)])
def test_a_system_that_allows_no_further_thread_is_no_bug(shell: Shell, command: str, code: int) -> None:
    shell.write("threads.md", f"Nothing of this is known to anybody but {command}.\n")
    program = (
        "import _thread, threading\n"
        'def refuse(*_): raise RuntimeError("can\'t start new thread")\n'
        "_thread.start_new_thread = threading._start_new_thread = refuse\n"
        "from directory_indexer import cli\n"
        "cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()],
        capture_output=True,
        check=False,
        cwd=shell.docs,
        encoding="utf-8",
        errors="surrogateescape",
        env=shell.environ,
        timeout=100,
    )
    assert done.returncode == code, done.stderr
    assert ("cannot start another thread" in done.stderr) == (code != 0)
