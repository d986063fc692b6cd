"""Nothing of the working directory is run, whatever the names of its files: it may be a repository of a stranger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pymupdf
import pytest
from commands import DIRINDEX
from serving import RawClient, text_of

if TYPE_CHECKING:
    from pathlib import Path

MODULES = """
    _thread argparse ast base64 bisect collections contextlib copy dataclasses enum functools hashlib heapq inspect
    json locale logging numbers pathlib pickle platform queue random re select selectors shlex shutil signal socket
    string struct subprocess tempfile threading time traceback types typing uuid warnings weakref zlib
    blake3 chardet click httpx numpy onnxruntime pydantic pymupdf rich tree_sitter typer watchfiles
    sitecustomize usercustomize
"""
PACKAGES = """
    asyncio concurrent ctypes directory_indexer email encodings html http importlib mcp multiprocessing sqlite3
    tree_sitter_python unittest urllib xml
"""
COMMANDS = [
    ("index", "."),
    ("search", "heron", "."),
    ("doctor",),
]
"""Those that start workers, embed, and import all that can be installed."""

MORE_COMMANDS = [
    ("search", "heron", "-m", "keyword"),
    ("similar", "note000.md"),
    ("get", "note000.md"),
    ("status", "--json"),
    ("export", "../all.db"),
    ("config",),
    ("forget", "."),
]
"""One for each further set of modules that commands import."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Make a directory with something to do for worker processes, and modules that leave a mark when they are run."""
    directory = tmp_path / "hostile"
    directory.mkdir()
    program = f"open({str(tmp_path / 'marks')!r}, 'a').write(__name__ + '\\n')\n"
    for name in MODULES.split():
        (directory / f"{name}.py").write_text(program)
    for name in PACKAGES.split():
        (directory / name).mkdir()
        for file in ("__init__.py", "__main__.py", "util.py"):
            (directory / name / file).write_text(program)
    for number in range(40):
        (directory / f"note{number:03}.md").write_text(f"# Note {number}\n\nThe heron stands in water.\n")
    (directory / "large.txt").write_text("The egret waits at the shore.\n" * 10_000)
    pdf = pymupdf.open()
    pdf.new_page().insert_text((60, 100), "Foxes live in dens.")
    pdf.save(directory / "foxes.pdf")
    return directory


def marks(directory: Path) -> str:
    file = directory.parent / "marks"
    return file.read_text() if file.exists() else ""


def run(
    directory: Path, *words: str, launcher: tuple[str | Path, ...] = (DIRINDEX,), **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*launcher, *words, "--data-dir", "../data"],
        cwd=directory,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("more", [[], pytest.param(MORE_COMMANDS, marks=pytest.mark.slow)])
def test_commands_run_nothing_of_the_working_directory(hostile: Path, more: list[tuple[str, ...]]) -> None:
    for words in (*COMMANDS, *more):
        done = run(hostile, *words)

        assert (words, done.returncode, done.stderr if done.returncode else "") == (words, 0, "")
    assert marks(hostile) == ""


@pytest.mark.slow
def test_files_named_like_modules_are_indexed(hostile: Path) -> None:
    report = json.loads(run(hostile, "index", ".", "--json").stdout)

    assert (report["failed"], report["added"]) == (0, sum(path.is_file() for path in hostile.rglob("*")))


@pytest.mark.slow
def test_a_server_runs_nothing_of_the_working_directory(hostile: Path) -> None:
    assert run(hostile, "index", ".").returncode == 0
    (hostile / "late.py").write_text("def heron(): ...\n")
    with RawClient("--data-dir", "../data", environ=dict(os.environ), directory=hostile, is_cold=True) as client:
        client.shake_hands()
        calls: list[tuple[str, dict[str, Any]]] = [
            ("index", {"wait_seconds": 50}),
            ("search", {"query": "heron"}),
            ("get_content", {"path": str(hostile / "late.py")}),
            ("similar_files", {"path": str(hostile / "note000.md")}),
            ("server_info", {}),
        ]
        for tool, arguments in calls:
            result = client.call(tool, **arguments)

            assert not result.get("isError"), text_of(result)
    assert marks(hostile) == ""


def test_a_run_that_a_server_starts_finds_what_relative_variables_name(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The heron stands in water.")
    environ = {**os.environ, "DIRINDEX_STORAGE__SQLITE_PATH": "../base/words.db", "DIRINDEX_DATA_DIR": "../data"}
    with RawClient(str(docs), environ=environ, directory=docs) as client:
        client.shake_hands()
        assert client.call("index", path=str(docs), wait_seconds=50)["structuredContent"]["state"] == "completed"

        assert "heron" in text_of(client.call("search", query="heron"))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["", ".", os.pathsep])
def test_an_entry_of_the_python_path_that_is_no_directory_by_itself_is_left_out(hostile: Path, path: str) -> None:
    (hostile / "encodings").rename(hostile / "not_encodings")  # which Python needs before any program runs
    (hostile / "importlib").rename(hostile / "not_importlib")
    (hostile / "sitecustomize.py").unlink()
    (hostile / "usercustomize.py").unlink()
    (hostile / "directory_indexer").rename(hostile / "not_directory_indexer")

    done = run(hostile, "index", ".", launcher=(DIRINDEX,), PYTHONPATH=path)

    assert (done.returncode, marks(hostile)) == (0, "")


def test_python_runs_the_module_without_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "typing.py").write_text("raise SystemExit('run')\n")

    done = run(tmp_path, "config", launcher=(sys.executable, "-m", "directory_indexer"))

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="a directory that is used cannot be removed there")
@pytest.mark.parametrize("path", [os.pathsep + "/nowhere", "relative"])
def test_a_relative_entry_of_the_python_path_leads_nowhere_when_the_working_directory_is_gone(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / "gone").mkdir()
    # Some versions of Python do not even start there.
    program = (
        "import os; from directory_indexer.core.isolation import forget_working_directory; "
        "os.rmdir(os.getcwd()); forget_working_directory()"
    )

    done = run(tmp_path / "gone", launcher=(sys.executable, "-c", program), PYTHONPATH=path)

    assert (done.returncode, done.stderr) == (0, "")
