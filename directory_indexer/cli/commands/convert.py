"""`dirindex convert`: write a document of any format as Markdown."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    Quiet,
    Verbose,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import place_path, resolved_path

with lazily:
    from directory_indexer.integrations.converting.converter import is_url
    from directory_indexer.integrations.exporting.target import draft_of, require_free
    from directory_indexer.text import json_pages, results

cli = new_command_line()


@cli.command()
def convert(
    *,
    source: Annotated[
        str, typer.Argument(metavar="PATH|URL", help="A file, a member of one as in a.zip!/b.docx, or an address.")
    ],
    target: Annotated[
        Path | None, typer.Option("--output", "-o", parser=parse_path, metavar="FILE", help="Write to FILE.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Fetch from this machine and private networks, too.")
    ] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Write a document of any kind as Markdown, without indexing it.

    Web pages that do not mark their main part lose their menus and banners with the extra `web`: in a checkout,
    pip install '.[web]'
    """
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = open_app(config, data_dir, output)
    place = place_path(target) if target else None
    if place:
        require_free(place, app.policies.walk.own, force=force)
    if is_url(source):
        text = app.converter.convert_url(source, allow_private=allow_private)
    else:
        text = app.converter.convert_file(resolved_path(parse_path(source)))
    if place:
        with draft_of(place, force=force) as draft:
            Path(draft).write_bytes(text.encode("utf-8", "replace"))
    if as_json:
        output.data(json_pages.convert_json(source, text, file=place))
    elif not place:
        output.data(results.markdown(text, for_terminal=output.is_terminal))
