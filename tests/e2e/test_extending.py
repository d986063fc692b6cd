"""Kinds of files that the configuration adds, read by commands and by extensions that are installed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any

import pytest
from commands import DIRINDEX, start_command
from shells import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of Unix")

BACKWARDS = "import sys; print(open(sys.argv[1], encoding='utf-8').read()[::-1])"
"""A program that reads files whose letters stand in reverse."""


def reader(program: str = BACKWARDS, **more: Any) -> dict[str, Any]:
    return {"kind": "backwards", "suffixes": ["rev"], "command": [sys.executable, "-c", program, "{file}"], **more}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path, tmp_path / "home")
    shell.write("poem.rev", "regnig dna storrac lioB")
    shell.write("note.txt", "Roofs leak in autumn.\n")
    return shell


def configure(shell: Shell, *readers: dict[str, Any]) -> None:
    shell.data_dir.mkdir(exist_ok=True)
    (shell.data_dir / "config.json").write_text(
        json.dumps({"indexing": {"extractors": list(readers)}}), encoding="utf-8"
    )


def found(shell: Shell, query: str, *options: str) -> list[str]:
    hits = shell.run("search", query, "--mode", "keyword", "--files", "--quiet", *options, expect=None).stdout
    return [os.path.basename(line) for line in hits.splitlines()]


def failures(shell: Shell) -> str:
    return shell.run("status", "--verbose").stdout


def test_a_command_reads_files_of_its_kind_and_nothing_else(shell: Shell) -> None:
    configure(shell, reader())
    shell.run("index", shell.docs, "--quiet")

    assert found(shell, "carrots") == ["poem.rev"]
    assert found(shell, "carrots type:backwards") == ["poem.rev"]
    assert found(shell, "roofs") == ["note.txt"]
    assert "Boil carrots and ginger" in shell.run("get", shell.docs / "poem.rev").stdout


def test_another_command_reads_the_files_of_its_kind_again_and_no_others(shell: Shell) -> None:
    configure(shell, reader())
    shell.run("index", shell.docs, "--quiet")
    configure(shell, reader(BACKWARDS.replace("print(", "print('Anew:', ")))
    report = shell.json("index")

    assert found(shell, "anew") == ["poem.rev"]
    assert (report["changed"], report["unchanged"]) == (1, 1)


def test_without_its_command_a_file_is_what_it_was_before(shell: Shell) -> None:
    configure(shell, reader())
    shell.run("index", shell.docs, "--quiet")
    configure(shell)
    shell.run("index", "--quiet")

    assert found(shell, "carrots") == []
    assert found(shell, "storrac") == ["poem.rev"]


def test_a_command_has_no_shell_no_environment_and_a_directory_of_its_own(shell: Shell, tmp_path: Path) -> None:
    program = (
        "import os, sys; print('variables', sorted(os.environ), 'directory', os.getcwd(), 'arguments', sys.argv[2:],"
        " 'input', repr(sys.stdin.read()), 'mode', oct(os.stat('.').st_mode & 0o777))"
    )
    told = reader(program)
    told["command"].append("; touch $HOME/owned")
    configure(shell, told)
    shell.environ["SECRET_OF_THE_SHELL"] = "seen"  # noqa: S105 - a name that must not arrive
    shell.run("index", shell.docs, "--quiet")
    text = shell.run("get", shell.docs / "poem.rev").stdout

    assert "SECRET_OF_THE_SHELL" not in text
    assert "touch $HOME/owned" in text
    assert not (Path(shell.environ["HOME"]) / "owned").exists()
    assert "input ''" in text
    assert "0o700" in text
    assert str(tmp_path / "docs") not in text.partition("directory")[2]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.exit(3)", "exit status 3"),
        ("import time; time.sleep(60)", "takes longer than 1 s"),
        ("while True: pass", "takes longer than 1 s"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("print('')", "no text"),
    ],
)
def test_a_command_that_fails_costs_its_file_alone(shell: Shell, program: str, told: str) -> None:
    configure(shell, reader(program, seconds=1))
    shell.run("index", shell.docs, "--quiet", expect=None)

    assert told in failures(shell)
    assert found(shell, "roofs") == ["note.txt"]


def test_a_command_that_is_not_installed_is_named(shell: Shell) -> None:
    configure(shell, reader() | {"command": ["no-such-program-of-anybody", "{file}"]})
    shell.run("index", shell.docs, "--quiet", expect=None)
    assert "no-such-program-of-anybody is not installed" in failures(shell)


def test_a_file_is_read_as_soon_as_its_command_is_installed(shell: Shell, tmp_path: Path) -> None:
    os.utime(shell.docs / "poem.rev", (1_000_000_000, 1_000_000_000))
    configure(shell, reader() | {"command": ["read-backwards", "{file}"]})
    shell.run("index", shell.docs, "--quiet", expect=None)
    program = tmp_path / "programs" / "read-backwards"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nrev "$1"\n', encoding="ascii")
    program.chmod(0o755)
    shell.environ["PATH"] = f"{program.parent}{os.pathsep}{shell.environ['PATH']}"

    shell.run("index", "--quiet")

    assert found(shell, "carrots") == ["poem.rev"]


def test_what_a_command_starts_ends_with_it(shell: Shell, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = "import sys, time; f = open(sys.argv[1], 'w'); print('open', flush=True); time.sleep(600)"
    program = (
        "import subprocess, sys; print('started', flush=True);"
        f"subprocess.Popen([sys.executable, '-c', {child!r}, sys.argv[2]], stdout=subprocess.PIPE).stdout.readline()"
    )
    holding = reader(program)
    holding["command"].append(str(pipe))
    configure(shell, holding)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        shell.run("index", shell.docs, "--quiet")
        assert found(shell, "started") == ["poem.rev"]
        assert os.read(reading, 1) == b""  # nobody has it open for writing any more
    finally:
        os.close(reading)


def holding_pipe(pipe: Path) -> dict[str, Any]:
    """A command whose child holds a pipe open as long as it lives."""
    os.mkfifo(pipe)
    program = 'exec 9>"$1"; sleep 1000 & echo started >&9; wait'
    return reader(seconds=600) | {"command": ["/bin/sh", "-c", program, "{file}", str(pipe)]}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_a_command_is_left_when_a_run_is_stopped_or_killed(
    shell: Shell, tmp_path: Path, how: signal.Signals
) -> None:
    configure(shell, holding_pipe(tmp_path / "pipe"))
    command: list[str | Path] = [DIRINDEX, "index", shell.docs, "--quiet"]
    with start_command(command, env=shell.environ, stderr=DEVNULL) as run:
        with (tmp_path / "pipe").open("rb", 0) as reading:
            assert reading.readline() == b"started\n"
            run.send_signal(how)
            assert reading.read() == b""  # the command has ended, and what it has started
        run.wait()


@contextlib.contextmanager
def killed(shell: Shell, pipe: Path, *words: str | Path) -> Iterator[None]:
    """Kill a command while it has a file read by another one that it has started."""
    with start_command([DIRINDEX, *words], env=shell.environ, stderr=DEVNULL) as run:
        with pipe.open("rb", 0) as reading:
            assert reading.readline() == b"started\n"
            yield
            run.kill()
            assert reading.read() == b""
        run.wait()


def copies_below(directory: Path) -> list[str]:
    return [copy.read_text(encoding="utf-8") for copy in directory.glob("**/file.rev")]


@pytest.mark.parametrize("next_command", [("index",), ("forget", "DOCS")])
def test_the_copy_that_a_killed_run_has_left_is_gone_after_the_next_command_that_writes(
    shell: Shell, tmp_path: Path, next_command: tuple[str, ...]
) -> None:
    shell.environ["TMPDIR"] = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()
    configure(shell, holding_pipe(tmp_path / "pipe"))
    with killed(shell, tmp_path / "pipe", "index", shell.docs, "--quiet"):
        assert copies_below(shell.data_dir) == ["regnig dna storrac lioB"]
    assert copies_below(shell.data_dir) != []
    (shell.docs / "poem.rev").unlink()

    shell.run(*(str(shell.docs) if word == "DOCS" else word for word in next_command), "--quiet")

    assert copies_below(shell.data_dir) == []
    assert list((shell.data_dir / "scratch").iterdir()) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_without_an_index_the_copy_that_a_killed_conversion_has_left_is_gone_after_the_next_one(
    shell: Shell, tmp_path: Path
) -> None:
    temporary, elsewhere = tmp_path / "temporary", tmp_path / "config.json"
    temporary.mkdir()
    configure(shell, holding_pipe(tmp_path / "pipe"))
    (shell.data_dir / "config.json").rename(elsewhere)
    shell.data_dir.rmdir()
    shell.environ |= {"TMPDIR": str(temporary), "DIRINDEX_CONFIG": str(elsewhere)}
    with killed(shell, tmp_path / "pipe", "convert", shell.docs / "poem.rev"):
        assert copies_below(temporary) == ["regnig dna storrac lioB"]
    assert copies_below(temporary) != []

    shell.run("convert", shell.docs / "note.txt")

    assert list(temporary.iterdir()) == []


def test_nothing_of_a_command_is_left_when_it_takes_too_long(shell: Shell, tmp_path: Path) -> None:
    configure(shell, holding_pipe(tmp_path / "pipe") | {"seconds": 1})
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    shell.run("index", shell.docs, "--quiet", expect=None)
    with open(reading, "rb", 0) as written:
        assert written.read() == b"started\n"
    assert "takes longer than 1 s" in failures(shell)


def test_what_a_command_leaves_in_the_place_of_its_output_is_not_read(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("Nobody reads this.", encoding="utf-8")
    program = (
        "import os, sys; print('Boil carrots', flush=True);"
        f"[(os.unlink(n), os.symlink({str(tmp_path / 'private.txt')!r}, n)) for n in os.listdir('.')]"
    )
    configure(shell, reader(program))
    shell.run("index", shell.docs, "--quiet")
    assert found(shell, "carrots") == ["poem.rev"]
    assert found(shell, "nobody") == []


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (reader() | {"kind": "pdf"}, "dirindex reads pdf itself"),
        (reader() | {"command": ["cat"]}, "needs {file}"),
        (reader() | {"entry_point": "one"}, "either a command or an entry_point"),
        ({"kind": "x", "suffixes": ["x"]}, "either a command or an entry_point"),
        (reader() | {"shell": True}, "has no key 'shell'"),
        (reader() | {"seconds": 0}, "at least 1"),
        (reader() | {"suffixes": [".rev"]}, "suffix without a dot"),
        (reader() | {"output": "pdf"}, "must be 'text', 'markdown' or 'html'"),
        ({"suffixes": ["x"]}, "lacks one of kind"),
    ],
)
def test_mistakes_in_the_configuration_are_told(shell: Shell, entry: dict[str, Any], told: str) -> None:
    configure(shell, entry)
    ran = shell.run("index", shell.docs, expect=2)
    assert "indexing.extractors.0" in ran.stderr
    assert told in ran.stderr
    assert shell.run("config", expect=2).stderr == ran.stderr


def test_two_extractors_may_claim_neither_one_suffix_nor_one_kind(shell: Shell) -> None:
    configure(shell, reader(), reader() | {"kind": "other", "suffixes": ["odd", "REV"]}, reader() | {"suffixes": ["x"]})
    told = shell.run("config", expect=2).stderr
    assert 'indexing.extractors.1.suffixes: must be suffixes that extractor 0 does not have, not "REV"' in told
    assert 'indexing.extractors.2.kind: must be a kind that extractor 0 does not have, not "backwards"' in told
    assert shell.run("index", shell.docs, expect=2).stderr == told


EXTENSION = """
from directory_indexer.formats.document import Document, Metadata

def read(content, kind):
    return Document(content.decode()[::-1], kind, "A poem", metadata=Metadata(authors=("Ada",)))

def fail(content, kind):
    raise RuntimeError(content)
"""


@pytest.fixture
def extension(shell: Shell, tmp_path: Path) -> Shell:
    """Install a package with two extensions."""
    place = tmp_path / "packages"
    information = place / "poems-1.2.dist-info"
    information.mkdir(parents=True)
    (place / "poems.py").write_text(EXTENSION, encoding="utf-8")
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: poems\nVersion: 1.2\n", encoding="utf-8")
    entries = "[directory_indexer.extractors]\npoems = poems:read\nbroken = poems:fail\n"
    (information / "entry_points.txt").write_text(entries, encoding="utf-8")
    shell.environ["PYTHONPATH"] = str(place)
    return shell


def named(entry_point: str) -> dict[str, Any]:
    return {"kind": "poem", "suffixes": ["rev"], "entry_point": entry_point}


def test_an_extension_reads_what_the_configuration_gives_it(extension: Shell) -> None:
    extension.run("index", extension.docs, "--quiet")
    assert found(extension, "carrots") == []  # it is installed, and not named

    configure(extension, named("poems"))
    extension.run("index", "--quiet")
    assert found(extension, "carrots") == ["poem.rev"]
    assert found(extension, "carrots author:ada") == ["poem.rev"]


@pytest.mark.parametrize(
    ("entry_point", "told"),
    [("broken", "RuntimeError in poems.py"), ("missing", "the extension 'missing' is not installed")],
)
def test_an_extension_that_fails_costs_its_file_alone(extension: Shell, entry_point: str, told: str) -> None:
    configure(extension, named(entry_point))
    extension.run("index", extension.docs, "--quiet", expect=None)
    assert told in failures(extension)
    assert found(extension, "roofs") == ["note.txt"]
