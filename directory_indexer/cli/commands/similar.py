"""`dirindex similar`: find files similar to a file."""

from pathlib import Path
from typing import Annotated

from directory_indexer.cli.arguments import parse_location
from directory_indexer.cli.options import (
    ColorWhen,
    Cursor,
    InCollection,
    NoServer,
    Null,
    ResultFormat,
    VerboseCall,
    open_existing_app,
)
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.cli.results import ResultOptions, form_of, show_result
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.cursors import parse_cursor
    from directory_indexer.text.results import View

_DEFAULT_LIMIT = 10


class SimilarCall(VerboseCall):
    """The command line of `similar`."""

    file: Annotated[Path, Argument("File to compare with; it need not be indexed.", parse=parse_location)]
    paths: Annotated[
        tuple[Path, ...], Argument("Directories or files to search in.", parse=parse_location, metavar="[PATH]...")
    ] = ()
    limit: Annotated[int, Option(("--limit", "-n"), "Maximum number of files.", minimum=1, maximum=1000)] = (
        _DEFAULT_LIMIT
    )
    cursor: Cursor = ""
    collection: InCollection = ""
    no_server: NoServer = False
    result_format: ResultFormat = None
    null: Null = False
    color: ColorWhen = "auto"


def similar(call: SimilarCall) -> ExitCode:
    """Find files like this one."""
    form = form_of(call.result_format, as_json=call.as_json, is_null=call.null)
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=form.startswith("json"), color=call.color)
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    within = tuple(dict.fromkeys(map(resolved_path, call.paths)))
    like = resolved_path(call.file)
    position = parse_cursor(call.cursor, question=("similar", like, *within))
    notes = app.refresh(within)
    unpaged = app.similar_files.find(like, within=within, limit=position.limit(call.limit))
    result = position.rest(unpaged._replace(notes=(*notes, *unpaged.notes)), limit=call.limit)
    show_result(
        result,
        output,
        app=app,
        index=lambda: app.status.checked(result.summary),
        options=ResultOptions(form, View.SCORED_FILES),
        position=position,
    )
    return ExitCode.DONE if result.hits and not result.is_weak else ExitCode.INCOMPLETE


COMMAND = Command(SimilarCall, similar)
