"""The working directory and the tracked directories around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from directory_indexer.errors import NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display, lies_in, resolved_path

with lazily:
    from directory_indexer.app import App
    from directory_indexer.notes import Note, NoteKind

_MOST_NAMED = 3


def working_directory() -> FilePath | None:
    """Return the working directory, or None if it was removed."""
    try:
        return resolved_path(Path.cwd())
    except FileNotFoundError:
        return None


def root_around(app: App, directory: Path) -> FilePath:
    """Return the innermost tracked directory around a directory, or that itself if tracked ones are below it.

    Raises:
        NotIndexedError: there is neither.
    """
    here = resolved_path(directory)
    tracked = _tracked(app)
    around = [root for root in tracked if lies_in(here, root)]
    if around:
        return max(around, key=len)
    if any(lies_in(root, here) for root in tracked):
        return here
    raise NotIndexedError(f"{display(here)} lies in no tracked directory", hint="dirindex index . adds it")


def whence(app: App) -> Iterator[Note]:
    """Yield a note that names the tracked directories, if the working directory is not among them."""
    here = working_directory()
    tracked = _tracked(app)
    if here is None or any(lies_in(here, root) or lies_in(root, here) for root in tracked):
        return
    named = ", ".join(map(display, tracked[:_MOST_NAMED]))
    more = f" and {len(tracked) - _MOST_NAMED} more" if len(tracked) > _MOST_NAMED else ""
    note = f"the working directory is not indexed; the answer comes from {named}{more}"
    yield Note(note, NoteKind.ELSEWHERE)


def _tracked(app: App) -> list[FilePath]:
    with app.docstore.snapshot() as snapshot:
        return list(snapshot.directories.all())
