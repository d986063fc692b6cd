"""Opening of indexed files on this machine for the owner at the page, who has to allow it first.

Programs only get paths of indexed files, never paths from requests. The desktop only opens documents, never files that
it might execute: both the format and the name of a file must be those of a document.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.isolation import NEUTRAL_DIRECTORY
from directory_indexer.core.paths import FilePath, display, exact_text
from directory_indexer.core.safe_open import open_file
from directory_indexer.formats.kinds import is_safe_to_open
from directory_indexer.integrations.editors import graphical_editor_command, system_command, viewer_command
from directory_indexer.search.file_texts import read_text
from directory_indexer.server.rest import Services
from directory_indexer.server.rest.documents import indexed_path


class OpenWith(StrEnum):
    """The kind of program that opens a file."""

    EDITOR = "editor"
    PROGRAM = "program"
    FOLDER = "folder"


class OpenTarget(NamedTuple):
    """A file to open, with a line or page."""

    doc_id: str
    how: OpenWith
    line: int = 1
    page: int = 0


class FileOpener:
    """Opens indexed files with local programs."""

    def __init__(self, services: Services, start: Callable[[Sequence[str]], None] | None = None) -> None:
        self._services = services
        self._start = start or start_program

    def open(self, target: OpenTarget) -> str:
        """Open a file, and return the name of the program.

        Raises:
            NotIndexedError: no such file is indexed.
            UsageError: the file is gone, inside a container, or not a document.
            UnavailableError: no program for it is installed, or it cannot be started.
        """
        with self._services.collections.opened(DEFAULT) as opened, opened.app.visible.snapshot() as snapshot:
            path = indexed_path(self._services, opened, snapshot, target.doc_id)
            kind = read_text(snapshot, path, None).facts.kind
        _require_regular_file(path)
        command = open_command(target, path, kind, os.environ)
        self._start(command)
        return os.path.basename(command[0])


def open_command(target: OpenTarget, path: FilePath, kind: str, environ: Mapping[str, str]) -> list[str]:
    """Return the command that opens a file.

    Raises:
        UsageError: the desktop might execute the file.
        UnavailableError: no program for it is installed.
    """
    exact = exact_text(path)
    if target.how is OpenWith.FOLDER:
        return _folder_command(exact)
    if target.how is OpenWith.EDITOR and (editor := graphical_editor_command(exact, target.line, environ)):
        return editor
    if not is_safe_to_open(path, kind):
        raise UsageError(
            f"{display(path)} is not opened: the desktop might execute it",
            hint="set EDITOR to an editor that opens its own window",
        )
    return viewer_command(exact, target.page or None) or system_command(exact)


def start_program(command: Sequence[str]) -> None:
    """Start a program without waiting for it.

    Raises:
        UnavailableError: the program cannot be started.
    """
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(  # noqa: S603 - a program of this table or of the person's environment, no shell
            list(command), stdin=nothing, stdout=nothing, stderr=nothing, cwd=NEUTRAL_DIRECTORY, start_new_session=True
        )
    except OSError as error:
        raise UnavailableError(f"'{command[0]}' cannot be started: {error.strerror}") from error
    threading.Thread(target=process.wait, daemon=True).start()


def _folder_command(path: str) -> list[str]:
    if sys.platform == "darwin":
        return ["open", "-R", path]
    if sys.platform == "win32":
        return ["explorer", f"/select,{path}"]
    return system_command(os.path.dirname(path))


def _require_regular_file(path: FilePath) -> None:
    """Require that a file exists and is not a link.

    Raises:
        UsageError: it does not exist or is a link.
    """
    try:
        os.close(open_file(exact_text(path)))
    except OSError as error:
        raise UsageError(f"{display(path)} is gone, inside a container, or now a link") from error
