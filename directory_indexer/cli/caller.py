"""The caller of a command: its terminal and environment, and the index that it may share.

Nearly always that is this process. A server runs commands of other processes in separate threads, each of which
captures the output for its caller.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

from directory_indexer.core.lazy import lazily

with lazily:
    import shutil

    from directory_indexer.app import App

if TYPE_CHECKING:
    from directory_indexer.config import LoadedConfig


class NotAnsweredError(Exception):
    """The caller has to run the command in its own process."""


class Caller:
    """This process, as the caller of its own command."""

    loaded: LoadedConfig | None = None
    """The configuration that the command loaded last."""

    @property
    def stdout(self) -> TextIO:
        """Standard output."""
        return sys.stdout

    @property
    def stderr(self) -> TextIO:
        """Standard error."""
        return sys.stderr

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment."""
        return os.environ

    @property
    def columns(self) -> int:
        """The width of the terminal behind standard output."""
        return shutil.get_terminal_size().columns

    @property
    def message_columns(self) -> int:
        """The width of the terminal behind standard error, since standard output may be a pipe."""
        with contextlib.suppress(OSError):
            if columns := os.get_terminal_size(sys.stderr.fileno()).columns:
                return columns
        return self.columns

    def app(self, loaded: LoadedConfig) -> App:
        """Return the index that a configuration names.

        Raises:
            NotAnsweredError: it is not the index of this server.
        """
        self.loaded = loaded
        return App(loaded)

    def require_same_process(self) -> None:
        """Raise unless the command runs in the process of its caller.

        Raises:
            NotAnsweredError: a server runs it.
        """


_THIS_PROCESS = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=_THIS_PROCESS)


def current_caller() -> Caller:
    """Return the caller of the command that this thread runs."""
    return _current.get()


def run_for(caller: Caller) -> None:
    """Set the caller for which this thread runs commands."""
    _current.set(caller)
