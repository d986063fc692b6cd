"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.output import Color
from directory_indexer.core.errors import UsageError
from directory_indexer.ranking.filter_fields import METADATA_FIELDS


def new_command_line() -> typer.Typer:
    """Return a Typer application for one command or one group of commands."""
    return typer.Typer(rich_markup_mode=None, add_completion=False)


ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", parser=parse_path, help="Read the configuration from FILE."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", parser=parse_path, help="Keep the index in DIR, not in ~/.directory-indexer."
    ),
]
InCollection = Annotated[
    str, typer.Option("--collection", metavar="NAME", help="Use this collection, not the default one.")
]
InCollections = Annotated[
    list[str] | None,
    typer.Option("--collection", metavar="NAME", help="Search this collection; may be repeated."),
]
ResultFormat = Annotated[
    Literal["text", "json", "jsonl", "tsv", "md", "grep", "paths"] | None,
    typer.Option("--format", help="How to write hits; --json is short for --format json."),
]
Null = Annotated[
    bool, typer.Option("--null", "-0", help="Write exact paths alone, each ended by a NUL, as xargs -0 reads them.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no notes.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show more detail.")]
NoServer = Annotated[
    bool, typer.Option("--no-server", help="Answer in this process, even if a server of the index runs.")
]
"""Read by `command_client`, before a command line is parsed."""

AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON object to standard output.")]
ColorWhen = Annotated[
    Color,
    typer.Option(
        "--color", help="Use colour and the layout of a terminal even in a pipe (always), or no colour (never)."
    ),
]
Cursor = Annotated[
    str, typer.Option("--cursor", help="Continue after the last page: its next_cursor.", show_default=False)
]


def with_metadata_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each metadata field to a command, which receives their values as `conditions`."""
    options = {field.argument or field.word: field for field in METADATA_FIELDS}

    @functools.wraps(command)
    def with_conditions(**arguments: Any) -> None:
        conditions = {field.word: arguments.pop(argument) or [] for argument, field in options.items()}
        command(conditions=conditions, **arguments)

    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "conditions"]
    after = next(at for at, parameter in enumerate(own) if parameter.name == "since")
    added = [
        inspect.Parameter(
            argument,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[list[str] | None, typer.Option(f"--{field.word}", help=field.help)],
        )
        for argument, field in options.items()
    ]
    parameters = [*own[:after], *added, *own[after:]]
    with_conditions.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_conditions.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_conditions


_RANGE = r"(\d{1,9})(?:-(\d{1,9})?)?"
_END = 2**31


def first_and_last(text: str, option: str) -> tuple[int, int]:
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
