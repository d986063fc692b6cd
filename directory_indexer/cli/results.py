"""Output of search results for a person, a pipe or a program, and opening of a hit.

A hit is opened in an editor at its line, or in a viewer at its page.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3

from directory_indexer.cli.caller import current_caller
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.kept_files import replace_file
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, containers_around, display, exact_text
from directory_indexer.core.safe_open import open_file, read_small_file

if TYPE_CHECKING:
    from directory_indexer.api import Position
    from directory_indexer.app import App

with lazily:
    import shlex
    import subprocess

    from directory_indexer.core.notes import Note
    from directory_indexer.formats.kinds import is_safe_to_open
    from directory_indexer.integrations import editors
    from directory_indexer.search.file_texts import with_context_lines
    from directory_indexer.search.requests import Hit, SearchResult
    from directory_indexer.storage.documents.statistics import IndexSummary
    from directory_indexer.text import json_pages, results
    from directory_indexer.text.formatting import count
    from directory_indexer.text.results import Format, View, format_rows


_BYTES_PER_TOKEN = 3
"""The estimate of the MCP server, since tokenizers differ."""


class ResultOptions(NamedTuple):
    """Options of printing hits; `hit_to_open` is the number of the hit to open instead.

    Output to a pipe is limited to `max_tokens`, if that is not 0, and to one hit at least.
    """

    form: str
    view: View
    explain: bool = False
    n_lines: int = 0
    hit_to_open: int = 0
    max_tokens: int = 0


def form_of(form: str | None, *, as_json: bool, is_null: bool) -> str:
    """Return the output format; `--json` and `--null` are short for one value of `--format` each.

    Raises:
        UsageError: they contradict each other.
    """
    if is_null and (as_json or form not in {None, Format.PATHS.value}):
        raise UsageError("--null is for paths alone", hint="leave it out, or add --format paths")
    if as_json and form not in {None, "json"}:
        raise UsageError(f"--json and --format {form} exclude each other", hint="leave one of them out")
    return Format.NULL_PATHS.value if is_null else "json" if as_json else form or "text"


def show_result(
    result: SearchResult,
    output: Output,
    *,
    app: App,
    index: Callable[[], IndexSummary],
    options: ResultOptions,
    position: Position,
) -> None:
    """Print the hits of a search and its notes: how far to trust the hits before them, anything else after them."""
    if options.hit_to_open:
        open_hit(result.hits, options.hit_to_open)
        return
    if options.form == Format.JSON:
        is_full = options.view is View.FULL
        page = json_pages.search_json(
            result,
            index=index(),
            position=position,
            full=is_full,
            explain=options.explain,
            page_bytes=options.max_tokens * _BYTES_PER_TOKEN or json_pages.PAGE_BYTES,
        )
        output.data(page)
        return
    visible, near = results.without_near_misses(result)
    n_hits = len(visible.hits)
    visible = _within_tokens(visible, output, options) if options.max_tokens else visible
    is_text = output.is_terminal and options.form == Format.TEXT
    standing = [note for note in visible.notes if note.is_standing] if is_text else []
    # Notes about how far to trust the hits come first; those that apply to every question come last.
    without_standing = visible._replace(notes=tuple(note for note in visible.notes if note not in standing))
    output.notes(results.search_notes(without_standing, is_near=bool(near)))
    if is_text:
        n_lines = options.n_lines or results.DEFAULT_LINES
        if n_lines > results.DEFAULT_LINES and options.view is View.EXCERPTS:
            visible = visible._replace(hits=_with_context(app, visible.hits, n_lines))
        lines = results.search_lines(
            visible, paths=output.paths, view=options.view, explain=options.explain, n_lines=n_lines
        )
        output.lines(lines)
    else:
        output.data(
            format_rows(
                visible, Format(options.form), paths=output.row_paths, view=options.view, explain=options.explain
            )
        )
    closing = [results.near_misses_note(near, paths=output.paths)] if near else results.closing_notes(result)
    output.notes(closing, are_dim=is_text)
    again = output.verbose or not result.hits  # without hits, missing content matters
    at_end = _standing_notes(app, standing, scope=result.request.scope, again=again) if is_text else ()
    output.notes(at_end, are_dim=True)
    if len(visible.hits) < n_hits:
        output.notes(
            [f"{count(n_hits - len(visible.hits), 'more hit')} did not fit into {count(options.max_tokens, 'token')}"]
        )


def _standing_notes(app: App, standing: Sequence[Note], *, scope: Sequence[FilePath], again: bool) -> list[str]:
    """Return the notes that apply to every question in a scope; without `again`, only those not shown recently."""
    notes = {note.identity: str(note) for note in standing}
    if advice := app.language_advice(scope):
        notes[advice.key] = advice.text
    return list(notes.values()) if again else unseen_notes(app.loaded.data_dir, notes)


def _within_tokens(result: SearchResult, output: Output, options: ResultOptions) -> SearchResult:
    """Drop hits from the end until the output fits into `max_tokens`, but keep the first one."""
    form = Format(options.form)
    for n_hits in range(len(result.hits), 1, -1):
        fitting = result._replace(hits=result.hits[:n_hits])
        text = format_rows(fitting, form, paths=output.row_paths, view=options.view, explain=options.explain)
        if len(text.encode("utf-8", "replace")) <= options.max_tokens * _BYTES_PER_TOKEN:
            return fitting
    return result._replace(hits=result.hits[:1])


def _with_context(app: App, hits: tuple[Hit, ...], n_lines: int) -> tuple[Hit, ...]:
    with app.visible.snapshot() as snapshot:
        return tuple(with_context_lines(snapshot, hit, n_lines=n_lines) for hit in hits)


def open_hit(hits: Sequence[Hit], number: int) -> None:
    """Open one of the hits, numbered from 1.

    Raises:
        UsageError: there are fewer hits, it is a member of a container, or the desktop might run it.
        UnavailableError: no program opens such a file, or it cannot be started.
    """
    current_caller().require_same_process()
    if number > len(hits):
        raise UsageError(f"there is no hit {number}: {len(hits)} were found", hint="-n raises the number of hits")
    hit = hits[number - 1]
    path = exact_text(hit.path)
    if not os.path.exists(path):
        inside = containers_around(hit.path)
        raise UsageError(
            f"{display(hit.path)} {'lies in a container' if inside else 'is gone'}",
            hint=f"dirindex get {shlex.quote(display(hit.path))} shows its text",
        )
    command = command_for(hit, os.environ)
    is_opener = command[0] == editors.opener()
    try:
        code = subprocess.run(  # noqa: S603 - the user's editor, without a shell
            command,
            check=False,
            stderr=subprocess.DEVNULL if is_opener else None,  # xdg-open lists each browser that is not there
        ).returncode
    except OSError as error:
        raise UnavailableError(
            f"'{command[0]}' cannot be started: {error.strerror}", hint=editors.SET_EDITOR
        ) from error
    if code == _NO_PROGRAM and is_opener:
        raise UnavailableError(f"no program opens '{display(hit.path)}'", hint=editors.SET_EDITOR)
    if code and os.name != "nt":  # explorer ends with 1 when it has opened a file
        raise UnavailableError(f"'{command[0]}' ended with {code}")


_NO_PROGRAM: Final = 3
"""The exit code of xdg-open if a tool that it needs is missing."""


def command_for(hit: Hit, environ: Mapping[str, str]) -> list[str]:
    """Return the command that opens a hit: a viewer for pages, else `$VISUAL` or `$EDITOR`, else the desktop's opener.

    Raises:
        UsageError: the desktop might run it.
        UnavailableError: there is neither.
    """
    path = exact_text(hit.path)
    is_edited = hit.page is None and hit.is_passage
    editor = editors.editor_command(path, hit.excerpt.line, environ) if is_edited else None
    command = editors.viewer_command(path, hit.page) or editor
    if not command and not (hit.is_passage and is_safe_to_open(hit.path, hit.facts.kind)):
        raise UsageError(f"{display(hit.path)} is not opened: the desktop might execute it", hint=editors.SET_EDITOR)
    return command or editors.system_command(path)


def unseen_notes(data_dir: Path, notes: Mapping[str, str]) -> list[str]:
    """Return the notes whose keys were not shown recently, and record them as shown."""
    path, known = os.path.join(os.path.realpath(data_dir), _NAME), list[str]()
    with contextlib.suppress(OSError, UnicodeDecodeError):  # missing, or not written by us
        known = read_small_file(path, open_file, most_bytes=_MAX_BYTES).decode("ascii").split()
    hashes = {blake3(key.encode("utf-8", "surrogatepass")).hexdigest(length=_HASH_BYTES): key for key in notes}
    new = [notes[key] for hash_, key in hashes.items() if hash_ not in known]
    if new:
        latest = [*(hash_ for hash_ in known if hash_ not in hashes), *hashes][-_MAX_KEPT:]
        with contextlib.suppress(OSError):
            replace_file(Path(path), "\n".join(latest).encode("ascii"))
    return new


_NAME: Final = "notes-shown"
_HASH_BYTES: Final = 8
_MAX_KEPT: Final = 64
_MAX_BYTES: Final = 64 << 10
