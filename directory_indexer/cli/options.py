"""Options that several commands share, and opening of the index that they name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.caller import current_caller
from directory_indexer.cli.output import Color, Output
from directory_indexer.cli.parameters import Call, Option, OptionTable
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.lazy import lazily
from directory_indexer.ranking.filter_fields import METADATA_FIELDS

if TYPE_CHECKING:
    from directory_indexer.app import App

with lazily:
    from directory_indexer.collections.collections import Collections
    from directory_indexer.config import load_config


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
Verbose = Annotated[bool, Option(("--verbose", "-v"), "Show more detail.")]
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
    as_json: AsJson = False


class VerboseCall(Call):
    """Those of a command that can show more detail."""

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
