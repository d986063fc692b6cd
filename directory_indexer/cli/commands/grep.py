"""`dirindex grep`: find all lines that match a pattern."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import (
    ColorWhen,
    InCollection,
    Kinds,
    NoServer,
    Null,
    OrdinaryCall,
    open_existing_app,
    parse_location,
)
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import ExitCode, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import exact_text, resolved_path
from directory_indexer.matching import PatternOptions

with lazily:
    from directory_indexer.search.grep import FileMatches, GrepRequest, grep_warnings
    from directory_indexer.search.grep import files_without_match as without
    from directory_indexer.search.grep import grep as find_lines
    from directory_indexer.storage.documents.store import Snapshot
    from directory_indexer.text import json_pages
    from directory_indexer.text.structure import MatchView, PathWriter, match_lines, match_rows


_MAX_LINES = 2**31 - 1
_OTHER_CASE_NOTE = "no line matches, but some do with -i, which ignores case"


class GrepCall(OrdinaryCall):
    """The command line of `grep`."""

    pattern: Annotated[str | None, Argument("A regular expression, in the syntax of ripgrep.")] = None
    paths: Annotated[tuple[str, ...], Argument("Directories or files to look in.", metavar="[PATH]...")] = ()
    patterns: Annotated[
        tuple[str, ...], Option(("--regexp", "-e"), "A pattern to look for; may be repeated.", metavar="PATTERN")
    ] = ()
    are_texts: Annotated[bool, Option(("--fixed-strings", "-F"), "Treat patterns as plain text.")] = False
    ignore_case: Annotated[bool, Option(("--ignore-case", "-i"), "Ignore case.")] = False
    case_sensitive: Annotated[bool, Option(("--case-sensitive", "-s"), "Respect case; the default.")] = False
    smart_case: Annotated[
        bool, Option(("--smart-case", "-S"), "Ignore case unless a pattern has a capital letter.")
    ] = False
    are_words: Annotated[bool, Option(("--word-regexp", "-w"), "Match only whole words.")] = False
    are_lines: Annotated[bool, Option(("--line-regexp", "-x"), "Match only whole lines.")] = False
    invert: Annotated[bool, Option(("--invert-match", "-v"), "Show the lines that do not match.")] = False
    counts: Annotated[bool, Option(("--count", "-c"), "Show how many lines of each file match.")] = False
    files: Annotated[bool, Option(("--files-with-matches", "-l"), "List only the files with a match.")] = False
    files_without: Annotated[bool, Option(("--files-without-match", "-L"), "List only the files without a match.")] = (
        False
    )
    null: Null = False
    only_matching: Annotated[bool, Option(("--only-matching", "-o"), "Show only the text that matches.")] = False
    max_count: Annotated[
        int | None,
        Option(("--max-count", "-m"), "Show at most N lines of each file.", minimum=1, maximum=_MAX_LINES, metavar="N"),
    ] = None
    after: Annotated[
        int | None, Option(("--after-context", "-A"), "Show N lines after each match.", minimum=0, metavar="N")
    ] = None
    before: Annotated[
        int | None, Option(("--before-context", "-B"), "Show N lines before each match.", minimum=0, metavar="N")
    ] = None
    context: Annotated[
        int, Option(("--context", "-C"), "Show N lines before and after each match.", minimum=0, metavar="N")
    ] = 0
    kinds: Kinds = ()
    globs: Annotated[
        tuple[str, ...],
        Option(("--glob", "-g", "--include"), "Only files that match, as in a .gitignore; with !, only others."),
    ] = ()
    no_effect: Annotated[
        bool,
        Option(
            ("--line-number", "-n", "--with-filename", "-H", "--recursive", "-r", "--extended-regexp", "-E"),
            "Accepted as in grep; grep always does this.",
        ),
    ] = False
    collection: InCollection = ""
    no_server: NoServer = False
    color: ColorWhen = "auto"
    verbose: Annotated[bool, Option(("--verbose",), "Show more detail, where there is more.")] = False


def grep(call: GrepCall) -> ExitCode:
    """Find all lines that match a pattern, in files of all formats.

    Exits with 0 when there are any, with 1 when there are none, and with 2 when the pattern is invalid or nothing is
    indexed there.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json, color=call.color)
    patterns, places = _patterns_and_places(call)
    view = _view(call)
    request = _request(call, patterns, places)._replace(max_spans=_most_spans(view, output))
    if view is MatchView.MATCHES_ALONE:
        request = request._replace(before=0, after=0)
    try:
        app = open_existing_app(call.config, call.data_dir, output, call.collection)
        changes = tuple(map(str, app.refresh(request.scope)))
        with app.visible.snapshot() as snapshot:
            printer = _GrepPrinter(output, view, _path_writer(places), changes)
            has_match = printer.show(snapshot, request, is_without=call.files_without)
    except NotIndexedError as error:
        # As in grep, exit code 1 means that no line matches, and 2 that there is no such place.
        raise UsageError(error.message, hint=error.hint) from error
    return ExitCode.DONE if has_match else ExitCode.INCOMPLETE


def _request(call: GrepCall, patterns: tuple[str, ...], places: Sequence[Path]) -> GrepRequest:
    return GrepRequest(
        PatternOptions(
            patterns,
            are_texts=call.are_texts,
            ignore_case=call.ignore_case and not call.case_sensitive,
            smart_case=call.smart_case and not call.case_sensitive,
            are_words=call.are_words,
            are_lines=call.are_lines,
        ),
        scope=tuple(map(resolved_path, places)),
        kinds=call.kinds,
        globs=call.globs,
        invert=call.invert,
        max_count=1 if _view(call) in {MatchView.PATHS, MatchView.NULL_PATHS} else call.max_count,
        before=call.context if call.before is None else call.before,
        after=call.context if call.after is None else call.after,
    )


def _most_spans(view: MatchView, output: Output) -> int | None:
    """Return how many matches of a line are needed: locating them takes longer than finding the line."""
    is_marked = view is MatchView.LINES and (output.is_terminal or output.as_json)
    return None if is_marked or view is MatchView.MATCHES_ALONE else 0


def _view(call: GrepCall) -> MatchView:
    if call.null:
        if call.as_json or call.counts or call.only_matching:
            raise UsageError("--null is for paths alone", hint="leave it out, or add -l")
        return MatchView.NULL_PATHS
    if call.files or call.files_without:
        return MatchView.PATHS
    if call.counts:
        return MatchView.COUNTS
    return MatchView.MATCHES_ALONE if call.only_matching else MatchView.LINES


class _GrepPrinter:
    """Printer of the matches, file by file as they are read."""

    def __init__(self, output: Output, view: MatchView, path: PathWriter, changes: Sequence[str]) -> None:
        self._output = output
        self._view = view
        self._path = path
        self._changes = changes

    def show(self, snapshot: Snapshot, request: GrepRequest, *, is_without: bool) -> bool:
        """Print all matches and notes about what is missing; return whether anything matched."""
        began = time.monotonic()
        matches = find_lines(snapshot, request)
        files = without(snapshot, request, matches) if is_without else matches.files
        if self._output.as_json:
            listed = list(files)
            seconds = time.monotonic() - began
            notes = (*self._changes, *grep_warnings(snapshot, request, matches, has_any=bool(listed), seconds=seconds))
            with_lines = self._view in (MatchView.LINES, MatchView.MATCHES_ALONE)
            self._output.data(json_pages.grep_json(request, listed, notes=notes, with_lines=with_lines))
            return bool(listed)
        n_printed = self._print(files)
        seconds = time.monotonic() - began
        if self._output.is_terminal and not n_printed and not is_without and _matches_in_other_case(snapshot, request):
            self._output.notes((_OTHER_CASE_NOTE,))
        self._output.notes(
            (*self._changes, *grep_warnings(snapshot, request, matches, has_any=n_printed > 0, seconds=seconds))
        )
        return n_printed > 0

    def _print(self, files: Iterable[FileMatches]) -> int:
        n_printed = 0
        for number, file in enumerate(files):
            if self._view is MatchView.NULL_PATHS:
                self._output.data(f"{self._path(file.path)}\0")
            elif self._output.is_terminal:
                self._output.lines(match_lines(file, view=self._view, paths=self._output.paths))
            else:
                rows = match_rows(file, view=self._view, path=self._path, is_first=not number)
                self._output.data("".join(f"{row}\n" for row in rows))
            n_printed += 1
        return n_printed


def _matches_in_other_case(snapshot: Snapshot, request: GrepRequest) -> bool:
    """Whether lines match a request that has no match, if their case is ignored."""
    if request.pattern.ignore_case or request.invert:
        return False
    relaxed = request._replace(pattern=request.pattern._replace(ignore_case=True), max_count=1)
    return any(True for _ in find_lines(snapshot, relaxed).files)


def _patterns_and_places(call: GrepCall) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return the patterns and the places to search; with -e, the first argument is a path, as in grep."""
    first = () if call.pattern is None else (call.pattern,)
    if not call.patterns and not first:
        raise UsageError("no pattern is given", hint="dirindex grep PATTERN [PATH]...")
    places = (*first, *call.paths) if call.patterns else call.paths
    return call.patterns or first, tuple(map(parse_location, places))


def _path_writer(places: Sequence[Path]) -> PathWriter:
    """Return ripgrep's format of paths: relative to the working directory, unless an absolute place was named."""
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:
        here = ""
    is_relative = here and not any(place.is_absolute() for place in places)
    return lambda path: exact_text(path).removeprefix(here if is_relative else "")


COMMANDS = {"grep": Command(GrepCall, grep)}
