"""`dirindex usage`: count how assistants searched, from the transcripts that they keep."""

import os
from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.options import AsJson, Quiet, Verbose, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.reports import usage_answer
    from directory_indexer.integrations.usage import usage_in
    from directory_indexer.text.formatting import count
    from directory_indexer.text.json_pages import record_json
    from directory_indexer.text.reports import unreadable_lines, usage_lines

cli = new_command_line()

_FEW = 5

_PLACES = ("~/.claude/projects", "~/.codex/sessions", "~/.gemini/tmp", "~/.local/share/opencode")
_WHERE = f"no session was found; assistants keep theirs in {', '.join(_PLACES[:-1])} and {_PLACES[-1]}"


@cli.command()
def usage(
    *,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=parse_path,
            help="Transcripts, or directories that hold them; by default, where assistants keep them.",
        ),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Count how often assistants searched, grepped and read.

    Their transcripts say so, and how much text they got; nothing is sent anywhere.
    """
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    places = list(map(os.path.expanduser, paths or _PLACES))
    answer = usage_answer(usage_in(places if paths else filter(os.path.exists, places)))
    if as_json:
        output.data(record_json(answer))
    else:
        output.lines(usage_lines(answer))
        n_unreadable = len(answer.unreadable)
        are_shown = verbose or n_unreadable <= _FEW
        output.lines(unreadable_lines(answer, paths=output.paths) if are_shown else ())
        output.notes([] if are_shown else [f"{count(n_unreadable, 'file')} could not be counted; -v names them"])
        output.notes(
            [f"{count(answer.passed_over, 'line')} could not be read as records"] if answer.passed_over else []
        )
        output.notes([] if answer.sessions else [_WHERE])
    if not answer.sessions:
        raise typer.Exit(ExitCode.INCOMPLETE)
