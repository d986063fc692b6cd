"""What a command says beside its data fits the terminal, and stays whole for programs."""

from __future__ import annotations

import io
import sys

import pytest

from directory_indexer.cli.output import Output
from directory_indexer.core.errors import UsageError

PATH = "/directories/with-hyphens/of/a/rather/long/name"


class _Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def said(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> list[str]:
    stream = _Stream(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "30")
    output = Output(quiet=False, verbose=False, as_json=False)
    output.notes(["many chunks are not embedded yet, and are found by words"])
    output.error(UsageError(f"{PATH} is a directory", hint="name a file in it, or one of the others"))
    return stream.getvalue().splitlines()


def test_on_a_terminal_messages_are_broken_between_words_and_paths_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, is_terminal=True) == [
        "many chunks are not embedded",
        "  yet, and are found by words",
        "dirindex:",
        f"  {PATH}",
        "  is a directory",
        "  name a file in it, or one of",
        "  the others",
    ]


def test_in_a_pipe_a_message_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, is_terminal=False) == [
        "many chunks are not embedded yet, and are found by words",
        f"dirindex: {PATH} is a directory",
        "  name a file in it, or one of the others",
    ]
