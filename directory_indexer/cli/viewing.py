"""Opening of a hit: in an editor at its line, or in a viewer at its page."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence

from directory_indexer.cli.caller import current_caller
from directory_indexer.editors import SET_EDITOR, editor_command, system_command, viewer_command
from directory_indexer.errors import UnavailableError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import containers_around, display, exact_text

with lazily:
    from directory_indexer.extractors.openable import is_document
    from directory_indexer.searching.answers import Hit


def open_hit(hits: Sequence[Hit], number: int) -> None:
    """Open one of the hits, numbered from 1.

    Raises:
        UsageError: there are fewer hits, it is a member of a container, or the desktop might run it.
        UnavailableError: nothing here opens such a file, or what should cannot be started.
    """
    current_caller().require_same_process()
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
    command = command_for(hit, os.environ)
    try:
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - the editor of who calls, without a shell
    except OSError as error:
        raise UnavailableError(f"'{command[0]}' cannot be started: {error.strerror}", hint=SET_EDITOR) from error
    if code:
        raise UnavailableError(f"'{command[0]}' ended with {code}")


def command_for(hit: Hit, environ: Mapping[str, str]) -> list[str]:
    """Return the command that opens a hit: a viewer for pages, else `$VISUAL` or `$EDITOR`, else the desktop's opener.

    Raises:
        UsageError: the desktop might run it.
        UnavailableError: there is neither.
    """
    path = exact_text(hit.path)
    is_edited = hit.page is None and hit.is_passage
    editor = editor_command(path, hit.excerpt.line, environ) if is_edited else None
    command = viewer_command(path, hit.page) or editor
    if not command and not (hit.is_passage and is_document(hit.path, hit.facts.kind)):
        raise UsageError(f"{display(hit.path)} is not handed to the desktop, which might run it", hint=SET_EDITOR)
    return command or system_command(path)
