"""`dirindex usage`: count how assistants searched, from the transcripts that they keep."""

import os
from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import AsJson, Quiet, Verbose, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Call, Command
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.reports import usage_answer
    from directory_indexer.integrations.usage import usage_in
    from directory_indexer.text.formatting import count
    from directory_indexer.text.reports import unreadable_lines, usage_lines


_MAX_LISTED = 5

_PLACES = ("~/.claude/projects", "~/.codex/sessions", "~/.gemini/tmp", "~/.local/share/opencode")
_NO_SESSION = f"no session was found; assistants keep theirs in {', '.join(_PLACES[:-1])} and {_PLACES[-1]}"


class UsageCall(Call):
    """The command line of `usage`."""

    paths: Annotated[
        tuple[Path, ...],
        Argument(
            "Transcripts or directories with them; default: where assistants keep them.",
            parse=parse_path,
            metavar="[PATH]...",
        ),
    ] = ()
    quiet: Quiet = False
    verbose: Verbose = False
    as_json: AsJson = False


def usage(call: UsageCall) -> ExitCode:
    """Count how often assistants searched, grepped and read.

    Their transcripts say so, and how much text they got; nothing is sent anywhere.
    """
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    places = list(map(os.path.expanduser, call.paths or _PLACES))
    answer = usage_answer(usage_in(places if call.paths else filter(os.path.exists, places)))
    if call.as_json:
        output.record(answer)
    else:
        output.lines(usage_lines(answer))
        n_unreadable = len(answer.unreadable)
        are_shown = call.verbose or n_unreadable <= _MAX_LISTED
        output.lines(unreadable_lines(answer, paths=output.paths) if are_shown else ())
        output.notes([] if are_shown else [f"{count(n_unreadable, 'file')} could not be counted; -v names them"])
        output.notes(
            [f"{count(answer.passed_over, 'line')} could not be read as records"] if answer.passed_over else []
        )
        output.notes([] if answer.sessions else [_NO_SESSION])
    return ExitCode.DONE if answer.sessions else ExitCode.INCOMPLETE


COMMANDS = {"usage": Command(UsageCall, usage)}
