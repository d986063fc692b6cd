"""The commands, each with its call as a record, and what they share: options, parsers of values, opening an index."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from directory_indexer.cli.caller import current_caller
from directory_indexer.cli.output import Color, Output
from directory_indexer.cli.parameters import Call, Option, OptionTable
from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, exact_text, unquote_path, without_line_number
from directory_indexer.ranking.filter_fields import METADATA_FIELDS

if TYPE_CHECKING:
    from directory_indexer.app import App

with lazily:
    from directory_indexer.collections import Collections
    from directory_indexer.config import load_config


def parse_path(text: str) -> Path:
    """Parse a path as a person types or pastes it, or as `--json` writes it.

    An empty path is rejected: a variable that a script left unset would mean the working directory.

    Raises:
        UsageError: the text is empty or blank.
    """
    if not text.strip():
        raise UsageError("a path is empty", hint="for the working directory write .")
    if os.path.lexists(os.path.expanduser(text)):
        return Path(text)
    text = unquote_path(text)
    return Path(text if text.isascii() or os.path.lexists(text) else exact_text(FilePath(text)))


def parse_location(text: str) -> Path:
    """Parse a file or directory to search in; a line number as in `FILE:12` is dropped.

    Raises:
        UsageError: the text is empty or blank.
    """
    path = parse_path(text)
    file = without_line_number(os.fspath(path))
    return Path(file) if os.path.lexists(os.path.expanduser(file)) and not os.path.lexists(path) else path


def parse_seconds(text: str) -> float:
    """Parse a number of seconds.

    Raises:
        UsageError: the text is no number, or one below zero.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:  # NaN fails this comparison, too
        raise UsageError(f"'{text}' is not a number of seconds", hint="for example 600")
    return seconds


_RANGE = r"(\d{1,9})(?:-(\d{1,9})?)?"
_END = 2**31


def parse_range(text: str, option: str) -> tuple[int, int]:
    """Parse `3`, `3-7` or `3-` into the first and the last number.

    Raises:
        UsageError: the text is no range.
    """
    match = re.fullmatch(_RANGE, text.strip())
    if not match:
        raise UsageError(f"invalid range '{text}' for {option}", hint=f"write {option} 3, {option} 3-7 or {option} 3-")
    if match[2]:
        return int(match[1]), int(match[2])
    return int(match[1]), _END if text.strip().endswith("-") else int(match[1])


ConfigFile = Annotated[
    Path | None, Option(("--config",), "Read the configuration from FILE.", metavar="FILE", parse=parse_path)
]
DataDir = Annotated[
    Path | None,
    Option(("--data-dir",), "Directory of the index [~/.directory-indexer].", metavar="DIR", parse=parse_path),
]
InCollection = Annotated[str, Option(("--collection",), "Use this collection, not the default one.", metavar="NAME")]
InCollections = Annotated[
    tuple[str, ...], Option(("--collection",), "Search this collection; may be repeated.", metavar="NAME")
]
Kinds = Annotated[tuple[str, ...], Option(("--type", "-t"), "Only files of this kind: python, md, pdf …")]
MetadataValues = Annotated[
    Mapping[str, list[str]],
    OptionTable({field.word: Option((f"--{field.word}",), field.help) for field in METADATA_FIELDS}),
]
ResultFormat = Annotated[
    Literal["text", "json", "jsonl", "tsv", "md", "grep", "paths"] | None,
    Option(("--format",), "Output format; --json is short for --format json."),
]
Null = Annotated[bool, Option(("--null", "-0"), "Print only exact paths, each followed by a NUL byte, for xargs -0.")]
Quiet = Annotated[bool, Option(("--quiet", "-q"), "Show no progress and no notes.")]
Verbose = Annotated[bool, Option(("--verbose", "-v"), "Show more detail, where there is more.")]
NoServer = Annotated[bool, Option(("--no-server",), "Answer in this process, even if a server of the index runs.")]
"""Read by `command_client`, before a command line is parsed."""

AsJson = Annotated[bool, Option(("--json",), "Write one JSON object to standard output.")]
ColorWhen = Annotated[
    Color,
    Option(("--color",), "Use colour and the layout of a terminal even in a pipe (always), or no colour (never)."),
]
Cursor = Annotated[str, Option(("--cursor",), "Continue after the last page: its next_cursor.", shows_default=False)]


class OrdinaryCall(Call):
    """The options of nearly every command."""

    config: ConfigFile = None
    data_dir: DataDir = None
    quiet: Quiet = False
    verbose: Verbose = False
    as_json: AsJson = False


def open_existing_app(config: Path | None, data_dir: Path | None, output: Output, collection: str = "") -> App:
    """Open an index for a command that must not create one.

    Raises:
        NotIndexedError: there is none.
    """
    app = open_app(config, data_dir, output, collection)
    _require_index(app.loaded.config.storage.sqlite_path)
    return app


def open_app(config: Path | None, data_dir: Path | None, output: Output, collection: str = "") -> App:
    """Open the index of a collection, which need not exist yet; without a name, the default index.

    Raises:
        NotIndexedError: there is no such collection.
    """
    loaded = load_config(file=config, data_dir=data_dir, environ=current_caller().environ)
    output.notes(loaded.warnings)
    app = current_caller().app(loaded)
    if collection:
        current_caller().require_same_process()
    return Collections(app).app_of(collection) if collection else app


def _require_index(database: Path) -> None:
    if not database.exists():
        raise NotIndexedError(f"there is no index in '{database.parent}'", hint="dirindex index PATH makes one")
