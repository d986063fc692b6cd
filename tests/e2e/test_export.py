"""The installed command writes what is indexed for other programs."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import pytest
from commands import DIRINDEX, start_command
from shells import Shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    place = tmp_path_factory.mktemp("place")
    shell = Shell(place, place / "home")
    shell.environ["DIRINDEX_INDEXING__EMBEDDING"] = "off"
    shell.write("kitchen/soup.md", "# Soup\n\nBoil the carrots with ginger and serve it hot.\n")
    shell.write("kitchen/müsli.txt", "=1+1 oats\n")
    for number in range(300):
        shell.write(f"many/{number}.txt", f"{number} " + "word after word after word " * 200)
    shell.run("index", shell.docs, "--quiet")
    return shell


def test_a_database_can_be_asked(shell: Shell, tmp_path: Path) -> None:
    target = tmp_path / "all.db"
    report = shell.json("export", target)
    assert report["state"] == "completed"
    assert report["file"] == str(target)
    assert report["bytes"] == target.stat().st_size
    with closing(sqlite3.connect(target)) as connection:
        query = "SELECT heading, start_line FROM passages WHERE text LIKE '%ginger%'"
        assert connection.execute(query).fetchall() == [("Soup", 1)]
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (report["chunks"],)
    asked = subprocess.run(
        [Path(sys.executable).with_name("sqlite-utils"), "search", target, "chunks", "carrots", "-c", "text"],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert "ginger" in json.loads(asked.stdout)[0]["text"]


def test_a_pipe_gets_one_object_a_line_and_nothing_else(shell: Shell) -> None:
    written = shell.run("export", "-", shell.docs / "kitchen", "--format", "jsonl")
    found = [json.loads(line) for line in written.stdout.splitlines()]
    assert [os.path.basename(one["path"]) for one in found] == ["müsli.txt", "soup.md"]
    assert written.stderr == ""


def test_csv_in_a_pipe_is_utf_8_in_every_locale(shell: Shell) -> None:
    written = subprocess.run(
        [DIRINDEX, "export", "-", "kitchen", "-f", "csv"],
        capture_output=True,
        check=True,
        cwd=shell.docs,
        env={**shell.environ, "PYTHONIOENCODING": "latin-1"},
    )
    first, _ = csv.DictReader(written.stdout.decode("utf-8").splitlines())
    assert first["path"].endswith("müsli.txt")
    assert first["text"].startswith("'=1+1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-",), "--format jsonl"),
        (("-", "-f", "sqlite"), "cannot be written to standard output"),
        (("notes.txt",), "does not imply a format"),
        (("missing/notes.db",), "no directory"),
        (("-", "-f", "jsonl", "--json"), "cannot hold both"),
        (("{data}/notes.db",), "belongs to the index"),
        (("{data}/data.db", "--force"), "belongs to the index"),
        (("kitchen/soup.md", "-f", "csv"), "--force"),
    ],
)
def test_what_cannot_be_meant_is_refused(shell: Shell, words: tuple[str, ...], said: str) -> None:
    done = shell.run("export", *(word.format(data=shell.data_dir) for word in words), expect=2)
    assert said in done.stderr + done.stdout


def test_what_is_not_indexed_is_not_exported(shell: Shell, tmp_path: Path) -> None:
    assert "holds nothing of" in shell.run("export", tmp_path / "a.db", tmp_path, expect=1).stderr
    shell.run("export", tmp_path / "a.db", "--data-dir", tmp_path / "none", expect=1)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["all.db", "all.jsonl"])
def test_an_interrupted_export_leaves_nothing(shell: Shell, tmp_path: Path, name: str) -> None:
    running = start_command([DIRINDEX, "export", tmp_path / name, "--json"], env=shell.environ, stdout=PIPE, text=True)
    while not os.listdir(tmp_path) and running.poll() is None:
        time.sleep(0.001)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    # It may have been done just before.
    assert (running.returncode, os.listdir(tmp_path)) in [(130, []), (0, [name])]
    assert json.loads(output)["state"] == ("interrupted" if running.returncode else "completed")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("output", ["> /dev/full", ">&-"])
def test_an_output_that_cannot_be_written_is_told_in_one_line(shell: Shell, output: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"'{DIRINDEX}' export - -f jsonl {output}"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=shell.environ,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("dirindex: standard output ")
    assert len(done.stderr.splitlines()) == 1
