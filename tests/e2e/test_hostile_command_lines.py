"""Whatever a command line says in any argument of any command, it is no bug of dirindex."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import typer
from hostile_values import TEXTS
from warm_commands import run_warm

from directory_indexer.cli.command_line import cli

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from subprocess import CompletedProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be forked")

_GOOD = {0, 1, 2, 3, 4}
_TERMINATED = 143
_SERVERS = {"serve", "ui"}
_N_SAMPLED = 1


class _Command(NamedTuple):
    """A command by its full name, and its parameters that take a value."""

    name: str
    parameters: tuple[Any, ...]


class _Case(NamedTuple):
    """A value for one parameter of a command, beside what the command needs."""

    command: _Command
    parameter: Any
    value: str


def _commands(group: Any, *names: str) -> Iterator[_Command]:
    below = getattr(group, "commands", None)
    for name in below or ():
        yield from _commands(group.get_command(typer.Context(group), name), *names, name)
    if names and (below is None or group.invoke_without_command):
        with_value = (parameter for parameter in group.params if not getattr(parameter, "is_flag", False))
        yield _Command(" ".join(names), tuple(with_value))


COMMANDS = tuple(_commands(typer.main.get_command(cli)))


def _cases(command: _Command) -> Iterator[_Case]:
    """Yield every value for every parameter."""
    return (_Case(command, parameter, value) for parameter in command.parameters for value in _values(parameter))


def _values(parameter: Any) -> tuple[str, ...]:
    """Return all values for a parameter; where it has a form, such as KEY=VALUE, also in that form."""
    in_form = [f"key={text}" for text in TEXTS.values()] if "=" in (parameter.metavar or "") else []
    return (*TEXTS.values(), *in_form)


def _sample(command: _Command, *, offset: int) -> Iterator[_Case]:
    """Yield some values for every parameter, others for each, so that those of a command are all kinds."""
    for number, parameter in enumerate(command.parameters, offset):
        values = _values(parameter)
        n_values = len(values) * _N_SAMPLED // len(TEXTS)
        starts = range(number * n_values, (number + 1) * n_values)
        yield from (_Case(command, parameter, values[at % len(values)]) for at in starts)


class _Place:
    """A data directory with something of everything in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in ("home", "here"):
            (directory / name).mkdir()
        docs = directory / "docs"
        docs.mkdir()
        note = docs / "note.md"
        note.write_text("# Kolibri\n\nA bird.\n")
        self.samples: dict[str, str] = {
            "clients": "claude-code",
            "description": "Birds.",
            "file": str(note),
            "files": str(note),
            "name": "birds",
            "path": str(docs),
            "paths": str(docs),
            "pattern": "kolibri",
            "query": "kolibri",
            "source": str(note),
            "sources": str(note),
            "target": "backup",
        }
        for words in (
            ["index", str(docs)],
            ["collection", "create", "birds"],
            ["scope", "birds", str(docs)],
            ["key", "new", "birds"],
            ["add", str(note)],
        ):
            assert self.run(words).returncode == 0
        doc_id = self.run(["documents", "list"]).stdout.split()[0]
        self.samples |= {"doc_id": doc_id, "doc_ids": doc_id}
        self._kept = directory / "kept"
        shutil.copytree(self.data_dir, self._kept)

    @property
    def data_dir(self) -> Path:
        return self.directory / "data"

    def restore(self) -> None:
        """Undo what a command has done to the data directory."""
        shutil.rmtree(self.data_dir, ignore_errors=True)
        shutil.copytree(self._kept, self.data_dir)

    def run(self, words: Sequence[str]) -> CompletedProcess[str]:
        """Run a command, whose arguments may hold what no process can be given."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory / "home"),
            "LANG": "C.UTF-8",
            "DIRINDEX_DATA_DIR": str(self.data_dir),
            "DIRINDEX_INDEXING__EMBEDDING": "off",
        }
        here = str(self.directory / "here")
        return run_warm(["dirindex", *words], cwd=here, environ=environ, seconds=60, until=b"http://")

    def words(self, case: _Case) -> list[str]:
        """Write a command line: options before what needs none."""
        options, places = [], []
        for parameter in case.command.parameters:
            value = self._value(parameter, case)
            if value is None:
                continue
            if parameter.param_type_name == "argument":
                places.append(value)
            else:
                options.append(f"{parameter.opts[0]}={value}")
        options += ["--no-browser"] if case.command.name == "ui" else []
        return [*case.command.name.split(), *options, "--", *places]

    def _value(self, parameter: Any, case: _Case) -> str | None:
        if parameter is case.parameter:
            return case.value
        is_needed = parameter.required or parameter.name in {"clients", "pattern"}
        return self.samples.get(parameter.name, "x") if is_needed else None


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> _Place:
    return _Place(tmp_path_factory.mktemp("place"))


def _failures(place: _Place, cases: Sequence[_Case]) -> list[tuple[str, str, str, CompletedProcess[str]]]:
    """Run commands; return those that end in another way than a command may."""
    failed = []
    for case in cases:
        ended = place.run(place.words(case))
        is_good = ended.returncode in _GOOD or (case.command.name in _SERVERS and ended.returncode == _TERMINATED)
        if not is_good or "Traceback" in ended.stderr or "this is a bug" in ended.stderr:
            failed.append((case.command.name, case.parameter.name, case.value[:80], ended))
    place.restore()
    return failed


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_no_argument_of_a_command_ends_as_a_bug(place: _Place, command: _Command) -> None:
    offset = COMMANDS.index(command)
    assert not _failures(place, tuple(_sample(command, offset=offset)))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_no_value_of_any_argument_of_a_command_ends_as_a_bug(place: _Place, command: _Command) -> None:
    assert not _failures(place, tuple(_cases(command)))


def test_so_many_arguments_and_values_are_tried() -> None:
    n_arguments = sum(len(command.parameters) for command in COMMANDS)
    assert len(COMMANDS) >= 34
    assert n_arguments >= 180
    assert sum(len(list(_sample(command, offset=0))) for command in COMMANDS) >= n_arguments * _N_SAMPLED
    assert sum(len(list(_cases(command))) for command in COMMANDS) >= n_arguments * len(TEXTS)


@pytest.mark.parametrize("words", [["search", "a\0b"], ["index", "/a\0b"], ["search", "x", "--glob", "a\ud800b"]])
def test_what_no_path_and_no_text_contains_is_refused(place: _Place, words: Sequence[str]) -> None:
    ended = place.run(words)
    assert ended.returncode == 2
    assert "contains NUL" in ended.stderr or "contains an unpaired surrogate" in ended.stderr


def test_names_that_are_no_utf_8_go_on_working(place: _Place) -> None:
    name = "b\udce4r.md"
    directory = place.directory / "b\udce4ren"
    directory.mkdir()
    (directory / name).write_text("A bear.\n")
    for words in (
        ["index", str(directory)],
        ["search", "bear", str(directory)],
        ["search", "bear", "--glob", name],
        ["grep", "bear", str(directory / name)],
        ["get", str(directory / name)],
        ["add", str(directory / name), "--name", "bear.md"],
        ["backup", "b\udce4ckup", "--data-dir", str(place.directory / "b\udce4ckups")],
        ["forget", str(directory)],
    ):
        ended = place.run(words)
        assert ended.returncode == 0, (words, ended)
    place.restore()


def test_the_samples_are_of_arguments_that_there_are(place: _Place) -> None:
    names = {parameter.name for command in COMMANDS for parameter in command.parameters}
    assert place.samples.keys() <= names
