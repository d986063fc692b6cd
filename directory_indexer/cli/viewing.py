"""Open a file where somebody wants to read it: in an editor at a line, or in a viewer at a page.

No shell is asked: a name is one argument, whatever it holds, and absolute, so that none is taken for an option.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from directory_indexer.errors import UnavailableError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import containers_around, display, exact_text

with lazily:
    from directory_indexer.searching.answers import Hit


_BEFORE: Final = frozenset(
    {"vi", "vim", "nvim", "view", "gvim", "nano", "pico", "emacs", "emacsclient", "kak", "micro", "joe", "ne", "mcedit"}
)
"""Editors that take `+12 FILE`."""

_BEHIND: Final = frozenset({"hx", "helix", "subl", "zed"})
"""Editors that take `FILE:12`."""

_GOTO: Final = frozenset({"code", "codium", "code-insiders", "cursor", "windsurf"})
"""Editors that take `--goto FILE:12`."""

_PAGED: Final[Mapping[str, str]] = {
    "zathura": "--page={}",
    "okular": "--page={}",
    "evince": "--page-label={}",
    "atril": "--page-label={}",
    "xreader": "--page-label={}",
}
"""Viewers that open a page, with the option for it."""


def open_hit(hits: Sequence[Hit], number: int) -> None:
    """Open one of the hits, counted from 1.

    Raises:
        UsageError: there are fewer hits, or it is a member of a container.
        UnavailableError: nothing here opens such a file, or what should cannot be started.
    """
    if number > len(hits):
        raise UsageError(f"there is no hit {number}: {len(hits)} were found", hint="-n gives more of them")
    hit = hits[number - 1]
    path = exact_text(hit.path)
    if not os.path.exists(path):
        inside = containers_around(hit.path)
        raise UsageError(
            f"{display(hit.path)} {'lies in a container' if inside else 'is gone'}",
            hint=f"dirindex get {shlex.quote(display(hit.path))} shows its text",
        )
    command = command_for(path, line=hit.excerpt.line, page=hit.page, environ=os.environ)
    try:
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - the editor of who calls, without a shell
    except OSError as error:
        raise UnavailableError(f"'{command[0]}' cannot be started: {error.strerror}", hint=_SET_EDITOR) from error
    if code:
        raise UnavailableError(f"'{command[0]}' ended with {code}")


def command_for(path: str, *, line: int, page: int | None, environ: Mapping[str, str]) -> list[str]:
    """Say how a file is opened: with pages in a viewer, else in `$VISUAL` or `$EDITOR`, else by the desktop.

    Raises:
        UnavailableError: there is neither.
    """
    if page and (viewer := next((name for name in _PAGED if shutil.which(name)), None)):
        return [viewer, _PAGED[viewer].format(page), path]
    editor = environ.get("VISUAL") or environ.get("EDITOR")
    if not page and editor and (words := _words(editor)):
        return [*words, *_place(words[0], path, line)]
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    if not shutil.which(opener):
        raise UnavailableError(f"nothing here opens '{display_text(path)}'", hint=_SET_EDITOR)
    return [opener, path]


def display_text(path: str) -> str:
    """Write a path for people."""
    return path.encode("utf-8", "backslashreplace").decode()


def _words(editor: str) -> list[str]:
    try:
        return shlex.split(editor, posix=os.name == "posix")
    except ValueError as error:
        raise UnavailableError(f"$EDITOR cannot be read: '{editor}'", hint=_SET_EDITOR) from error


def _place(editor: str, path: str, line: int) -> list[str]:
    name = os.path.splitext(os.path.basename(editor))[0]
    if name in _BEFORE:
        return [f"+{line}", path]
    if name in _GOTO:
        return ["--goto", f"{path}:{line}"]
    return [f"{path}:{line}"] if name in _BEHIND else [path]


_SET_EDITOR = "set EDITOR to what shall open files"
