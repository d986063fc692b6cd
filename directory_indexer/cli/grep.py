"""The `grep` command: a fast parser of its arguments, and the output of matching lines file by file.

Scripts and assistants run `grep` a hundred times for every search, and importing Typer takes longer than everything
else that it does. Anything unusual, such as `--help` or a usage error, is left to Typer, so that it is explained in one
place.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.cli.arguments import parse_location, parse_path
from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.output import COLORS, Color, Output
from directory_indexer.core.errors import ExitCode, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import exact_text, resolved_path
from directory_indexer.matching import PatternOptions

with lazily:
    from directory_indexer.search.grep import GrepMatches, GrepRequest, grep_warnings
    from directory_indexer.search.grep import files_without_match as without
    from directory_indexer.search.grep import grep as find_lines
    from directory_indexer.storage.documents.store import Snapshot
    from directory_indexer.text import json_pages
    from directory_indexer.text.matches import MatchView, PathWriter, match_lines, match_rows


class GrepCall(NamedTuple):
    """The command line of `grep`, as `dirindex grep --help` describes it."""

    pattern: str | None = None
    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    are_texts: bool = False
    ignore_case: bool = False
    case_sensitive: bool = False
    smart_case: bool = False
    are_words: bool = False
    are_lines: bool = False
    invert: bool = False
    counts: bool = False
    files: bool = False
    files_without: bool = False
    only_matching: bool = False
    max_count: int | None = None
    after: int | None = None
    before: int | None = None
    context: int = 0
    kinds: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    collection: str = ""
    config: Path | None = None
    data_dir: Path | None = None
    quiet: bool = False
    color: Color = "auto"
    as_json: bool = False


def run_grep(call: GrepCall) -> ExitCode:
    """Find lines, print them, and return the exit code.

    Raises:
        DirIndexError: the pattern is invalid, or nothing is indexed there.
    """
    output = Output(quiet=call.quiet, verbose=False, as_json=call.as_json, color=call.color)
    patterns, places = _patterns_and_places(call)
    view = _view(call)
    request = _request(call, patterns, places)._replace(most_spans=_most_spans(view, output))
    if view is MatchView.MATCHES_ALONE:
        request = request._replace(before=0, after=0)
    try:
        app = open_existing_app(call.config, call.data_dir, output, call.collection)
        changes = tuple(map(str, app.refresh(request.scope)))
        with app.docstore.snapshot() as snapshot:
            showing = _GrepPrinter(output, view, places, changes)
            has_match = showing.show(snapshot, request, is_without=call.files_without)
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
        max_count=1 if call.files or call.files_without else call.max_count,
        before=call.context if call.before is None else call.before,
        after=call.context if call.after is None else call.after,
    )


def _most_spans(view: MatchView, output: Output) -> int | None:
    """Return how many matches of a line are needed: locating them takes longer than finding the line."""
    is_marked = view is MatchView.LINES and (output.is_terminal or output.as_json)
    return None if is_marked or view is MatchView.MATCHES_ALONE else 0


def _view(call: GrepCall) -> MatchView:
    if call.files or call.files_without:
        return MatchView.PATHS
    if call.counts:
        return MatchView.COUNTS
    return MatchView.MATCHES_ALONE if call.only_matching else MatchView.LINES


class _GrepPrinter:
    """Prints the matches file by file, as they are read."""

    def __init__(self, output: Output, view: MatchView, places: Sequence[Path], changes: Sequence[str]) -> None:
        self._output = output
        self._view = view
        self._path = _path_writer(places)
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
        self._output.notes(
            (*self._changes, *grep_warnings(snapshot, request, matches, has_any=n_printed > 0, seconds=seconds))
        )
        return n_printed > 0

    def _print(self, files: Iterable[GrepMatches]) -> int:
        n_printed = 0
        for number, file in enumerate(files):
            if self._output.is_terminal:
                self._output.lines(match_lines(file, view=self._view, paths=self._output.paths))
            else:
                rows = match_rows(file, view=self._view, path=self._path, is_first=not number)
                self._output.data("".join(f"{row}\n" for row in rows))
            n_printed += 1
        return n_printed


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


class _NotPlainError(Exception):
    """The command line has to be parsed by Typer, which reports errors in it."""


def grep_call(words: Sequence[str]) -> GrepCall | None:
    """Parse the arguments of `dirindex`; return None if Typer has to."""
    if not words or words[0] != "grep" or _COMPLETES in os.environ:
        return None
    try:
        return _parse(iter(words[1:]))
    except _NotPlainError:
        return None


def _parse(words: Iterator[str]) -> GrepCall:
    values_by_field: dict[str, list[str]] = {}
    places: list[str] = []
    for word in words:
        if word == "--":
            places += words
        elif word.startswith("-") and word != "-":
            for field, value in _options(word, words):
                values_by_field.setdefault(field, []).append(value)
        else:
            places.append(word)
    fields: dict[str, Any] = {
        name: _value(name, values) for name, values in values_by_field.items() if name not in {_AS_ALWAYS, _NO_SERVER}
    }
    return GrepCall(places[0] if places else None, tuple(places[1:]), **fields)


def _options(word: str, following: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of one argument, each with its value."""
    if word.startswith("--"):
        name, sign, value = word.partition("=")
        yield _field(name), _value_of(_field(name), value if sign else None, following)
        return
    for at, letter in enumerate(word[1:], 2):
        field = _field(f"-{letter}")
        rest = word[at:]
        if field in _WITH_VALUE:
            yield field, _value_of(field, rest or None, following)
            return
        yield field, ""


def _field(option: str) -> str:
    if option not in OPTIONS:
        raise _NotPlainError
    return OPTIONS[option]


def _value_of(field: str, value: str | None, following: Iterator[str]) -> str:
    if field not in _WITH_VALUE:
        if value is not None:
            raise _NotPlainError
        return ""
    value = next(following, None) if value is None else value
    if value is None:
        raise _NotPlainError
    return value


def _value(field: str, values: Sequence[str]) -> object:
    match field:
        case "patterns" | "kinds" | "globs":
            return tuple(values)
        case "max_count" | "after" | "before" | "context":
            return _number(values[-1], least=1 if field == "max_count" else 0)
        case "config" | "data_dir":
            return parse_path(values[-1])
        case "color" if values[-1] not in COLORS:
            raise _NotPlainError
        case "collection" | "color":
            return values[-1]
        case _:
            return True


def _number(text: str, *, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS and int(text) >= least):
        raise _NotPlainError
    return int(text)


_AS_ALWAYS: Final = "as_always"
_NO_SERVER: Final = "no_server"
OPTIONS: Final = {
    "-e": "patterns",
    "--regexp": "patterns",
    "-F": "are_texts",
    "--fixed-strings": "are_texts",
    "-i": "ignore_case",
    "--ignore-case": "ignore_case",
    "-s": "case_sensitive",
    "--case-sensitive": "case_sensitive",
    "-S": "smart_case",
    "--smart-case": "smart_case",
    "-w": "are_words",
    "--word-regexp": "are_words",
    "-x": "are_lines",
    "--line-regexp": "are_lines",
    "-v": "invert",
    "--invert-match": "invert",
    "-c": "counts",
    "--count": "counts",
    "-l": "files",
    "--files-with-matches": "files",
    "-L": "files_without",
    "--files-without-match": "files_without",
    "-o": "only_matching",
    "--only-matching": "only_matching",
    "-m": "max_count",
    "--max-count": "max_count",
    "-A": "after",
    "--after-context": "after",
    "-B": "before",
    "--before-context": "before",
    "-C": "context",
    "--context": "context",
    "-t": "kinds",
    "--type": "kinds",
    "-g": "globs",
    "--glob": "globs",
    "--include": "globs",
    "-n": _AS_ALWAYS,
    "--line-number": _AS_ALWAYS,
    "-H": _AS_ALWAYS,
    "--with-filename": _AS_ALWAYS,
    "-r": _AS_ALWAYS,
    "--recursive": _AS_ALWAYS,
    "-E": _AS_ALWAYS,
    "--extended-regexp": _AS_ALWAYS,
    "--collection": "collection",
    "--config": "config",
    "--data-dir": "data_dir",
    "--no-server": _NO_SERVER,
    "-q": "quiet",
    "--quiet": "quiet",
    "--color": "color",
    "--json": "as_json",
}
"""Options of `grep` and the fields of a call that they set; a test compares them with Typer's."""
_WITH_VALUE: Final = frozenset(
    (
        "patterns",
        "max_count",
        "after",
        "before",
        "context",
        "kinds",
        "globs",
        "collection",
        "color",
        "config",
        "data_dir",
    )
)
_COMPLETES: Final = "_DIRINDEX_COMPLETE"
_MOST_DIGITS: Final = 10
