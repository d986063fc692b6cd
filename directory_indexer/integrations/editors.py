"""Programs that open files, and how each is passed the line or page to show.

There is no shell: a path is one argument, whatever it contains, and absolute, so that it is never parsed as an option.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from directory_indexer.core.errors import UnavailableError
from directory_indexer.core.lazy import lazily

with lazily:
    import shlex
    import shutil

_PLUS_LINE: Final = frozenset(
    {"vi", "vim", "nvim", "view", "gvim", "nano", "pico", "emacs", "emacsclient", "kak", "micro", "joe", "ne", "mcedit"}
)
"""Editors with the syntax `+12 FILE`."""

_COLON_LINE: Final = frozenset({"hx", "helix", "subl", "zed"})
"""Editors with the syntax `FILE:12`."""

_GOTO: Final = frozenset({"code", "codium", "code-insiders", "cursor", "windsurf"})
"""Editors with the syntax `--goto FILE:12`."""

_GRAPHICAL: Final = (*sorted(_GOTO), "zed", "subl", "gvim", "kate", "gedit", "gnome-text-editor", "mousepad")
"""Editors with a window of their own."""

_PAGE_OPTIONS: Final[Mapping[str, str]] = {
    "zathura": "--page={}",
    "okular": "--page={}",
    "evince": "--page-label={}",
    "atril": "--page-label={}",
    "xreader": "--page-label={}",
}
"""Viewers that open a page, with the option for it."""

SET_EDITOR: Final = "set EDITOR to the program that should open files"


def viewer_command(path: str, page: int | None) -> list[str] | None:
    """Return the command that opens a file at a page, if a page is given and a capable viewer is installed."""
    viewer = next((name for name in _PAGE_OPTIONS if shutil.which(name)), None) if page else None
    return [viewer, _PAGE_OPTIONS[viewer].format(page), path] if viewer else None


def editor_command(path: str, line: int, environ: Mapping[str, str]) -> list[str] | None:
    """Return the command that opens a file at a line in `$VISUAL` or `$EDITOR`, if one of them is set.

    Raises:
        UnavailableError: it cannot be parsed.
    """
    editor = environ.get("VISUAL") or environ.get("EDITOR")
    words = _words(editor) if editor else []
    return [*words, *_arguments(words[0], path, line)] if words else None


def graphical_editor_command(path: str, line: int, environ: Mapping[str, str]) -> list[str] | None:
    """Return the command that opens a file at a line in an editor that needs no terminal, if there is one.

    Raises:
        UnavailableError: `$VISUAL` or `$EDITOR` cannot be parsed.
    """
    chosen = editor_command(path, line, environ)
    if chosen and _name(chosen[0]) in _GRAPHICAL:
        return chosen
    editor = next((name for name in _GRAPHICAL if shutil.which(name)), None)
    return [editor, *_arguments(editor, path, line)] if editor else None


def system_command(path: str) -> list[str]:
    """Return the command that opens a file with the desktop.

    Raises:
        UnavailableError: there is none.
    """
    if not shutil.which(opener()):
        escaped = path.encode("utf-8", "backslashreplace").decode()
        raise UnavailableError(f"no program was found that opens '{escaped}'", hint=SET_EDITOR)
    return [opener(), path]


def opener() -> str:
    """Return the command of the desktop that opens a file, whether it is installed or not."""
    return {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")


def _words(editor: str) -> list[str]:
    try:
        return shlex.split(editor, posix=os.name == "posix")
    except ValueError as error:
        raise UnavailableError(f"$EDITOR cannot be read: '{editor}'", hint=SET_EDITOR) from error


def _arguments(editor: str, path: str, line: int) -> list[str]:
    name = _name(editor)
    if name in _PLUS_LINE:
        return [f"+{line}", path]
    if name in _GOTO:
        return ["--goto", f"{path}:{line}"]
    return [f"{path}:{line}"] if name in _COLON_LINE else [path]


def _name(editor: str) -> str:
    return os.path.splitext(os.path.basename(editor))[0]
