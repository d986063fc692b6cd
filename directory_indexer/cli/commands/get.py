"""Print the text of a file as it is indexed."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    InCollection,
    Quiet,
    Verbose,
    first_and_last,
    given_path,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import resolved_path

with lazily:
    from directory_indexer.render import answers, json_pages
    from directory_indexer.searching.texts import Selection, Unit, read_text

cli = new_command_line()


@cli.command()
def get(
    *,
    file: Annotated[Path, typer.Argument(parser=given_path, help="An indexed file.")],
    chunks: Annotated[str | None, typer.Option("--chunks", metavar="N-M", help="Only these chunks.")] = None,
    lines: Annotated[str | None, typer.Option("--lines", metavar="N-M", help="Only these lines.")] = None,
    pages: Annotated[str | None, typer.Option("--pages", metavar="N-M", help="Only these pages.")] = None,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Print the indexed text of a file, or a part of it."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    selection = _selection(chunks=chunks, lines=lines, pages=pages)
    app = open_existing_app(config, data_dir, output, collection)
    with app.docstore.snapshot() as snapshot:
        text = read_text(snapshot, resolved_path(file), selection)
    if as_json:
        output.data(json_pages.get_json(text))
    else:
        output.data(answers.get_text(text, for_terminal=output.is_terminal))
        output.notes(answers.get_notes(text, paths=output.paths))


def _selection(*, chunks: str | None, lines: str | None, pages: str | None) -> "Selection | None":
    units = ((Unit.CHUNKS, chunks), (Unit.LINES, lines), (Unit.PAGES, pages))
    given = [(unit, text) for unit, text in units if text is not None]
    if not given:
        return None
    if len(given) > 1:
        raise UsageError("give one of --chunks, --lines and --pages, not several")
    unit, text = given[0]
    return Selection(unit, *first_and_last(text, f"--{unit}"))
