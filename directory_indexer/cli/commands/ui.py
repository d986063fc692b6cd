"""`dirindex ui`: open the search page in a browser."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
from typing import Annotated

import typer

from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import ConfigFile, DataDir, Verbose, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.cli.command_server import CommandServer
    from directory_indexer.server import ServeOptions, serve_page
    from directory_indexer.server.middleware.access import Access, HttpAddress
    from directory_indexer.server.ui.hosting import PageOptions, usual_port
    from directory_indexer.telemetry.start import start_leniently

_LAST_PORT = 65_535

cli = new_command_line()


@cli.command()
def ui(
    *,
    query: Annotated[str, typer.Argument(help="What to look for first.")] = "",
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=_LAST_PORT, help="Port of this machine for the page [8766]; 0: any."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser; print the address.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no notes.")] = False,
    verbose: Verbose = False,
) -> None:
    """Open a page in your browser to search and explore the index.

    Only you can open it, and only on this machine.
    """
    output = Output(quiet=quiet, verbose=verbose, as_json=False)
    app = open_app(config, data_dir, output)
    access = Access(HttpAddress("127.0.0.1", usual_port() if port is None else port))
    start_leniently(app.loaded.config.telemetry, os.environ)
    CommandServer(app).start()
    serve_page(app, ServeOptions(watch=True, verbose=verbose), access, PageOptions(query, not no_browser))
