"""Completion in shells: of every command, of its options and of their values."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest
import typer

from directory_indexer.cli.command_line import cli
from directory_indexer.integrations.assistants.client_table import CLIENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def complete(*words: str, shell: str = "bash") -> str:
        environ = {
            "_DIRINDEX_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": shlex.join(words[:-1]) + " " + words[-1],
            "COMP_CWORD": str(len(words) - 1),
            "_TYPER_COMPLETE_ARGS": shlex.join(words[:-1]) + " " + words[-1],
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            cli([], prog_name="dirindex")
        assert not end.value.code
        return capsys.readouterr().out

    return complete


def commands(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield names, group
    for name in getattr(group, "commands", ()):
        yield from commands(group.get_command(typer.Context(group), name), *names, name)


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_assistants_are_completed_in_every_shell(complete: Any, shell: str) -> None:
    assert "search" in complete("dirindex", "sea", shell=shell)
    assert "cursor" in complete("dirindex", "install", "curs", shell=shell)


def test_all_assistants_are_offered(complete: Any) -> None:
    assert complete("dirindex", "install", "").split() == list(CLIENTS)


def test_every_option_and_value_can_be_completed(complete: Any) -> None:
    for names, command in commands(typer.main.get_command(cli)):
        offered = complete("dirindex", *names, "--").split()
        visible = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        options = {option for parameter in visible for option in parameter.opts if option.startswith("--")}
        assert options <= set(offered), names
        complete("dirindex", *names, "")
        for option in options:
            complete("dirindex", *names, option, "")
