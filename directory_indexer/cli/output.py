"""Output of a command: data to standard output, everything else to standard error.

Renderers are imported on demand: rich is for terminals only, and `--help` needs none of them.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, TextIO, TypeAlias

from directory_indexer.cli.caller import current_caller
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.lazy import lazily

with lazily:
    import textwrap

    import typer

    from directory_indexer.api.reports import error_answer
    from directory_indexer.cli.signals import without_echo
    from directory_indexer.storage.documents.runs import RunProgress
    from directory_indexer.text.formatting import Line, PathStyle, Span, Style, line, plain, printable
    from directory_indexer.text.json_pages import record_json
    from directory_indexer.text.progress import IndexSteps, ProgressLines
    from directory_indexer.text.terminal import LiveProgress, styled


Color: TypeAlias = Literal["auto", "always", "never"]
"""When output is coloured: on a terminal only, always, or never."""


class Output:
    """Output streams and verbosity of one command."""

    def __init__(
        self, *, quiet: bool = False, verbose: bool = False, as_json: bool = False, color: Color = "auto"
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.as_json = as_json
        self._color = color
        self.is_terminal = _is_terminal(current_caller().stdout) or color == "always"

    @property
    def paths(self) -> PathStyle:
        """Return the style of paths: short on a terminal, absolute in a pipe."""
        if not self.is_terminal:
            return PathStyle()
        return PathStyle(working_directory=_working_directory(), home=os.path.expanduser("~"))

    @property
    def row_paths(self) -> PathStyle:
        """Return the style of paths in rows for programs: relative to the working directory if below it."""
        here = _working_directory()
        return PathStyle(working_directory=os.path.realpath(here) if here else "")

    def lines(self, lines: Iterable[Line]) -> None:
        """Write lines to standard output, in colour on a terminal."""
        if self.is_terminal:
            self.data(styled(lines, width=current_caller().columns, environ=self._environ))
        else:
            self.data(plain(lines))

    @property
    def _environ(self) -> Mapping[str, str]:
        """The environment that decides on colour; `--color` overrides `NO_COLOR`."""
        return (
            current_caller().environ if self._color == "auto" else {"NO_COLOR": "1"} if self._color == "never" else {}
        )

    def data(self, text: str) -> None:
        """Write text to standard output unchanged, ended by a newline or NUL."""
        stdout = current_caller().stdout
        stdout.write(text if text.endswith(("\n", "\0")) or not text else f"{text}\n")
        stdout.flush()

    def record(self, record: tuple[object, ...]) -> None:
        """Write a record to standard output as one JSON object."""
        self.data(record_json(record))

    @staticmethod
    def stream() -> TextIO:
        """Return standard output for other programs: UTF-8 whatever the locale, without newline translation."""
        current_caller().require_same_process()
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        return sys.stdout

    def notes(self, notes: Iterable[str], *, are_dim: bool = False) -> None:
        """Write notes to standard error, with `are_dim` dimmed on a terminal."""
        if not self.quiet:
            stderr = current_caller().stderr
            for note in notes:
                if are_dim and _is_terminal(stderr):
                    rows = [line(Span(row, Style.NOTE)) for row in _wrapped(note, "")]
                    stderr.write(styled(rows, width=current_caller().message_columns, environ=self._environ))
                else:
                    _write_message(note)
            stderr.flush()

    def error(self, error: DirIndexError) -> None:
        """Write an error and its hint, to standard output as JSON with `--json`."""
        if self.as_json:
            self.record(error_answer(error))
            return
        message = "\n".join(map(printable, error.message.split("\n")))
        _write_message(f"dirindex: {message}")
        if error.hint:
            _write_message(printable(error.hint), indent="  ")

    @property
    def can_ask(self) -> bool:
        """Whether a person at a terminal can answer a question."""
        current_caller().require_same_process()
        return sys.stdin.isatty() and sys.stderr.isatty() and not self.as_json

    def confirm(self, consequence: str) -> bool:
        """Ask for confirmation at a terminal; without a terminal, return False."""
        if not self.can_ask:
            return False
        _write_message(consequence)
        try:
            return typer.confirm("Do it?", err=True)
        except typer.Abort:  # the input has ended
            _write_message("")
            return False

    @contextlib.contextmanager
    def progress(
        self, *, in_steps: bool = False, must_stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Callable[[RunProgress], None]]:
        """Show the progress of a run on standard error: live on a terminal, as steps with `in_steps`.

        Elsewhere as an occasional line.
        """
        if self.quiet:
            yield lambda _: None
        elif _is_terminal(sys.stderr):
            steps = IndexSteps() if in_steps else None
            display = LiveProgress(sys.stderr, clock=time.monotonic, steps=steps, must_stop=must_stop)
            with without_echo(sys.stderr.fileno(), show=display.show, hide=display.hide):
                yield display
        else:
            yield ProgressLines(lambda text: self.notes([text]), clock=time.monotonic)


def _write_message(text: str, *, indent: str = "") -> None:
    """Write to standard error; on a terminal, wrap between words, so that a path can be copied whole."""
    stderr = current_caller().stderr
    for row in text.split("\n"):
        rows = _wrapped(row, indent) if stderr.isatty() else [indent + row]
        stderr.write("\n".join(rows) + "\n")


def _wrapped(row: str, indent: str) -> list[str]:
    return textwrap.wrap(
        row,
        current_caller().message_columns,
        initial_indent=indent,
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and current_caller().environ.get("TERM") != "dumb"


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
