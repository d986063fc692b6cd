"""A command line means the same whether it is parsed the short way or by Typer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.cli.command_line import cli, short_help, typer_callback
from directory_indexer.cli.command_table import COMMANDS, command_named, parsed_command
from directory_indexer.cli.parameters import Call, Command, Option, OptionTable, parameters_of, parse_call
from directory_indexer.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = {name: command for name in COMMANDS if isinstance(command := command_named(name), Command)}
VALUES = ("def", "src", "a b", "", "7", "-3", "0", "ä", "²", "3x", "json", "hybrid", "auto", "~/x", "csv", "1_0", "+5")
ODD = ("--", "-", "--nothing", "-z", "--help", "-h", "--count=1", "-in", "-C2", "-im3", "-0l", "-n5", "--limit=", "-")


def parsed_by_typer(name: str, words: list[str]) -> Any:
    """Return the call that Typer makes of a command line, or None if it refuses it."""
    command = PLAIN[name]
    calls: list[Any] = []
    recorder = command._replace(run=calls.append)
    app = typer.Typer(add_completion=False)
    app.command()(typer_callback(recorder))
    try:
        typer.main.get_command(app).main(list(words), standalone_mode=False, prog_name="dirindex")
    except Exception:  # noqa: BLE001 - it has no public name for its mistakes
        return None
    return calls[0] if calls else None


def assert_same(call: Call, other: Call) -> None:
    assert [getattr(call, each.field) for each in parameters_of(type(call))] == [
        getattr(other, each.field) for each in parameters_of(type(call))
    ]


def option_names(name: str) -> Iterator[str]:
    for parameter in parameters_of(PLAIN[name].call):
        options = parameter.spec.options.values() if isinstance(parameter.spec, OptionTable) else [parameter.spec]
        for option in options:
            yield from (part for names in getattr(option, "names", ()) for part in names.split("/"))


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    name = draw(st.sampled_from(sorted(PLAIN)))
    words = st.one_of(st.sampled_from(sorted(option_names(name))), st.sampled_from(VALUES), st.sampled_from(ODD))
    return name, draw(st.lists(words, max_size=6))


@given(command_lines())
def test_what_is_parsed_the_short_way_is_what_typer_parses(line: tuple[str, list[str]]) -> None:
    name, words = line
    try:
        call = parse_call(PLAIN[name].call, words)
    except UsageError:
        return
    if call is not None:
        assert_same(call, parsed_by_typer(name, words))


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_every_option_is_parsed_the_short_way(name: str) -> None:
    required = [["x"] for parameter in parameters_of(PLAIN[name].call) if parameter.is_required]
    for parameter in parameters_of(PLAIN[name].call):
        if isinstance(parameter.spec, Option) and not parameter.spec.parse:
            value = next(iter(get_args(parameter.type)), "text")
            value = str(min(parameter.spec.maximum or 300, 300)) if parameter.type is int else value
            words = [parameter.spec.names[0].partition("/")[0], *([] if parameter.type is bool else [value])]
            line = [*words, *(word for each in required for word in each)]
            call = parse_call(PLAIN[name].call, line)
            assert call is not None, line
            assert_same(call, parsed_by_typer(name, line))


@pytest.mark.parametrize(
    "words",
    [
        ["grep", "def"],
        ["grep", "-in", "def", "src"],
        ["grep", "-e", "a", "-e", "b", "-C", "2", "--", "-x"],
        ["search", "a question", "docs", "--author=Ada", "--tag", "x", "--tag", "y", "-n3", "--json"],
        ["ls"],
        ["key", "list", "--json"],
        ["config"],
    ],
)
def test_a_plain_line_needs_no_library(words: list[str]) -> None:
    assert parsed_command(words) is not None


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["grep", "--help"],
        ["grep", "-m", "0", "a"],
        ["grep", "-m"],
        ["grep", "a", "--nothing"],
        ["grep", "--count=1", "a"],
        ["get"],
        ["key"],
        ["config", "--json", "init"],
        ["search", "x", "--mode", "best"],
    ],
)
def test_a_line_that_is_not_plain_is_left_to_typer(words: list[str]) -> None:
    assert parsed_command(words) is None


def test_completion_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DIRINDEX_COMPLETE", "complete_bash")
    assert parsed_command(["grep", "a"]) is None


@pytest.mark.parametrize("width", [30, 1000])
def test_the_list_of_commands_has_the_sentences_of_their_help(width: int) -> None:
    commands = typer.main.get_command(cli).commands  # type: ignore[attr-defined]
    assert {name: short_help(name, width) for name in COMMANDS} == {
        name: commands[name].get_short_help_str(width) for name in COMMANDS
    }
