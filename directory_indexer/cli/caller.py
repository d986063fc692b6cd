"""The caller of a command: its terminal and environment, and the index that it may share.

Nearly always that is this process. A server answers commands of other processes in threads of its own, each of which
writes to what its caller gets.
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
    """The process that asked has to run the command itself."""


class Caller:
    """This process, as the caller of its own command."""

    loaded: LoadedConfig | None = None
    """The configuration that the command has read last."""

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
        """The width of the terminal behind standard error, for standard output may be a pipe."""
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
        """Make sure that the command runs in the process of its caller.

        Raises:
            NotAnsweredError: a server runs it.
        """


_THIS_PROCESS = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=_THIS_PROCESS)


def current_caller() -> Caller:
    """Return the caller of the command that this thread runs."""
    return _current.get()


def run_for(caller: Caller) -> None:
    """Make this thread run commands for another caller from now on."""
    _current.set(caller)
