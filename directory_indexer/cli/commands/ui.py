"""`dirindex ui`: open the search page in a browser."""

import os
from typing import Annotated

from directory_indexer.cli.options import ConfigFile, DataDir, Verbose, open_app
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Call, Command, Option
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.cli.command_server import CommandServer
    from directory_indexer.server import ServeOptions, serve_page
    from directory_indexer.server.middleware.access import Access, HttpAddress
    from directory_indexer.server.ui.hosting import PageOptions, default_port
    from directory_indexer.telemetry.start import start_leniently

_LAST_PORT = 65_535


class UiCall(Call):
    """The command line of `ui`."""

    query: Annotated[str, Argument("The first query.")] = ""
    port: Annotated[
        int | None,
        Option(("--port",), "Port of this machine for the page [8766]; 0: any.", minimum=0, maximum=_LAST_PORT),
    ] = None
    no_browser: Annotated[bool, Option(("--no-browser",), "Do not open a browser; print the URL.")] = False
    config: ConfigFile = None
    data_dir: DataDir = None
    quiet: Annotated[bool, Option(("--quiet", "-q"), "Show no notes.")] = False
    verbose: Verbose = False


def ui(call: UiCall) -> None:
    """Open a page in your browser to search and explore the index.

    Only you can open it, and only on this machine.
    """
    output = Output(quiet=call.quiet, verbose=call.verbose)
    app = open_app(call.config, call.data_dir, output)
    access = Access(HttpAddress("127.0.0.1", default_port() if call.port is None else call.port))
    start_leniently(app.loaded.config.telemetry, os.environ)
    CommandServer(app).start()
    serve_page(
        app, ServeOptions(watch=True, verbose=call.verbose), access, PageOptions(call.query, not call.no_browser)
    )


COMMAND = Command(UiCall, ui)
