"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.output import Color
from directory_indexer.cli.parameters import Option, OptionTable
from directory_indexer.ranking.filter_fields import METADATA_FIELDS

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
