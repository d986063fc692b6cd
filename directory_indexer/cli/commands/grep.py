"""Find all lines that match a pattern."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    InCollection,
    Quiet,
    given_path,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.errors import ExitCode, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.matching.patterns import PatternOptions
from directory_indexer.paths import exact_text, resolved_path

with lazily:
    from directory_indexer.docstore.store import Snapshot
    from directory_indexer.render import json_pages
    from directory_indexer.render.matches import MatchView, PathWriter, match_lines, match_rows
    from directory_indexer.searching.grep import GrepMatches, GrepRequest, grep_notes
    from directory_indexer.searching.grep import files_without as without
    from directory_indexer.searching.grep import grep as find_lines

cli = new_command_line()

_Lines = typer.Option(min=0, metavar="N")


@cli.command()
def grep(
    *,
    pattern: Annotated[str | None, typer.Argument(help="A regular expression, as ripgrep reads it.")] = None,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Directories or files to look in.")
    ] = None,
    patterns: Annotated[
        list[str] | None, typer.Option("--regexp", "-e", metavar="PATTERN", help="Look for this, too.")
    ] = None,
    are_texts: Annotated[bool, typer.Option("--fixed-strings", "-F", help="Patterns are plain text.")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="In whatever case.")] = False,
    case_sensitive: Annotated[bool, typer.Option("--case-sensitive", "-s", help="In this case; the default.")] = False,
    smart_case: Annotated[bool, typer.Option("--smart-case", "-S", help="-i if there is no capital letter.")] = False,
    are_words: Annotated[bool, typer.Option("--word-regexp", "-w", help="Only whole words.")] = False,
    are_lines: Annotated[bool, typer.Option("--line-regexp", "-x", help="Only whole lines.")] = False,
    invert: Annotated[bool, typer.Option("--invert-match", "-v", help="The lines that do not match.")] = False,
    count: Annotated[bool, typer.Option("--count", "-c", help="How many lines of each file match.")] = False,
    files: Annotated[bool, typer.Option("--files-with-matches", "-l", help="Only the files.")] = False,
    files_without: Annotated[bool, typer.Option("--files-without-match", "-L", help="The files without any.")] = False,
    only_matching: Annotated[bool, typer.Option("--only-matching", "-o", help="Only what matches.")] = False,
    max_count: Annotated[
        int | None, typer.Option("--max-count", "-m", min=1, metavar="N", help="At most N lines of each file.")
    ] = None,
    after: Annotated[
        int | None, typer.Option("--after-context", "-A", min=0, metavar="N", help="N lines after.")
    ] = None,
    before: Annotated[
        int | None, typer.Option("--before-context", "-B", min=0, metavar="N", help="N lines before.")
    ] = None,
    context: Annotated[int, typer.Option("--context", "-C", min=0, metavar="N", help="N lines around.")] = 0,
    kinds: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only files of this kind: python, md, pdf …")
    ] = None,
    globs: Annotated[
        list[str] | None,
        typer.Option("--glob", "-g", help="Only files that match, as in a .gitignore; without with !."),
    ] = None,
    _as_always: Annotated[
        bool,
        typer.Option(
            *("--line-number", "-n", "--with-filename", "-H", "--recursive", "-r"),
            help="It always does, however it is asked.",
        ),
    ] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find all lines that match a pattern, in files of all formats.

    Exits with 0 when there are any, with 1 when there are none, and with 2 when the pattern cannot be meant.
    """
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    given, places = _patterns_and_places(pattern, patterns or (), paths or ())
    request = GrepRequest(
        PatternOptions(
            given,
            are_texts=are_texts,
            ignore_case=ignore_case and not case_sensitive,
            smart_case=smart_case and not case_sensitive,
            are_words=are_words,
            are_lines=are_lines,
        ),
        scope=tuple(map(resolved_path, places)),
        kinds=tuple(kinds or ()),
        globs=tuple(globs or ()),
        invert=invert,
        max_count=1 if files or files_without else max_count,
        before=context if before is None else before,
        after=context if after is None else after,
    )
    view = MatchView.PATHS if files or files_without else MatchView.COUNTS if count else MatchView.LINES
    if only_matching and view is MatchView.LINES:
        view = MatchView.MATCHES_ALONE
        request = request._replace(before=0, after=0)
    app = open_existing_app(config, data_dir, output, collection)
    changes = app.refresh(request.scope)
    with app.docstore.snapshot() as snapshot:
        is_found = _Showing(output, view, places, changes).show(snapshot, request, is_without=files_without)
    raise typer.Exit(ExitCode.DONE if is_found else ExitCode.INCOMPLETE)


class _Showing:
    """Shows what is found file by file, as it is read."""

    def __init__(self, output: Output, view: "MatchView", places: Sequence[Path], changes: Sequence[str]) -> None:
        self._output = output
        self._view = view
        self._path = _path_writer(places)
        self._changes = changes

    def show(self, snapshot: "Snapshot", request: "GrepRequest", *, is_without: bool) -> bool:
        """Show all that is found, and say what is missing; tell whether there is anything."""
        began = time.monotonic()
        found = find_lines(snapshot, request)
        files = without(snapshot, request, found) if is_without else found.files
        if self._output.as_json:
            listed = list(files)
            seconds = time.monotonic() - began
            notes = (*self._changes, *grep_notes(snapshot, request, found, has_any=bool(listed), seconds=seconds))
            with_lines = self._view in (MatchView.LINES, MatchView.MATCHES_ALONE)
            self._output.data(json_pages.grep_json(request, listed, notes=notes, with_lines=with_lines))
            return bool(listed)
        n_shown = self._print(files)
        seconds = time.monotonic() - began
        self._output.notes(
            (*self._changes, *grep_notes(snapshot, request, found, has_any=n_shown > 0, seconds=seconds))
        )
        return n_shown > 0

    def _print(self, files: Iterable["GrepMatches"]) -> int:
        n_shown = 0
        for number, file in enumerate(files):
            if self._output.is_terminal:
                self._output.lines(match_lines(file, view=self._view, paths=self._output.paths))
            else:
                rows = match_rows(file, view=self._view, path=self._path, is_first=not number)
                self._output.data("".join(f"{row}\n" for row in rows))
            n_shown += 1
        return n_shown


def _patterns_and_places(
    pattern: str | None, patterns: Sequence[str], paths: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """With -e, what stands first is a path, as in grep."""
    first = () if pattern is None else (pattern,)
    if not patterns and not first:
        raise UsageError("no pattern is given", hint="dirindex grep PATTERN [PATH]...")
    places = (*first, *paths) if patterns else paths
    return tuple(patterns) or first, tuple(map(given_path, places))


def _path_writer(places: Sequence[Path]) -> "PathWriter":
    """Write paths as ripgrep does: below the working directory without it, unless a place was given from the root."""
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:
        here = ""
    is_relative = here and not any(place.is_absolute() for place in places)
    return lambda path: exact_text(path).removeprefix(here if is_relative else "")
