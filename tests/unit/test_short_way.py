"""The command line of `grep` means the same whether it is read the short way or by the library for command lines."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.cli.commands import grep as command
from directory_indexer.cli.grep import OPTIONS, GrepCall, grep_call

_COMMAND: Any = typer.main.get_command(command.cli)
_LISTS = {"patterns", "paths", "kinds", "globs"}
WORDS = st.one_of(
    st.sampled_from(
        [*OPTIONS, "--", "-", "-in", "-C2", "-im3", "-vc", "--max-count=4", "-tpy", "--glob=!x", "-m", "0"]
    ),
    st.sampled_from(["def", "src", "a b", "", "7", "-3", "ä", "--nothing", "-z", "--help", "--count=1", "3x", "²"]),
)


def by_the_library(words: list[str]) -> GrepCall | None:
    try:
        params = _COMMAND.make_context("grep", list(words)).params
    except Exception:  # noqa: BLE001 - it has no public name for its mistakes
        return None
    named = {name: value for name, value in params.items() if name in GrepCall._fields and value is not None}
    fields: dict[str, Any] = {name: tuple(value) if name in _LISTS else value for name, value in named.items()}
    return GrepCall(**fields)


def test_every_option_of_the_library_is_one_of_the_short_way() -> None:
    options = {option: one.name.lstrip("_") for one in _COMMAND.params for option in one.opts if option[0] == "-"}
    assert options == OPTIONS


@given(st.lists(WORDS, max_size=6))
def test_what_is_read_the_short_way_is_what_the_library_reads(words: list[str]) -> None:
    call = grep_call(["grep", *words])
    if call is not None:
        assert call == by_the_library(words)


@pytest.mark.parametrize(
    "words",
    [["def"], ["-in", "def", "src"], ["-e", "a", "-e", "b", "-C", "2", "--", "-x"], ["--glob=!x", "-tpy", "-m1", "a"]],
)
def test_what_is_plain_needs_no_library(words: list[str]) -> None:
    assert grep_call(["grep", *words]) == by_the_library(words) is not None


@pytest.mark.parametrize("words", [["--help"], ["-m", "0", "a"], ["-m"], ["a", "--nothing"], ["--count=1", "a"]])
def test_what_is_not_plain_is_left_to_the_library(words: list[str]) -> None:
    assert grep_call(["grep", *words]) is None


def test_completion_and_other_commands_are_left_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert grep_call(["search", "a"]) is None
    assert grep_call([]) is None
    monkeypatch.setenv("_DIRINDEX_COMPLETE", "complete_bash")
    assert grep_call(["grep", "a"]) is None
