"""Fast parser of `grep` arguments, because importing Typer takes longer than everything else that `grep` does.

Scripts and assistants run `grep` a hundred times for every search. Anything unusual, such as `--help` or a usage error,
is left to Typer, so that it is explained in one place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from directory_indexer.cli.given import given_path
from directory_indexer.cli.grepping import GrepCall
from directory_indexer.cli.output import COLORS


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
            return given_path(values[-1])
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
