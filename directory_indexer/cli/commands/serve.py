"""`dirindex serve` and `ui`: serve the index to assistants, and as a page in a browser."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from directory_indexer.cli.commands import ConfigFile, DataDir, Verbose, open_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Call, Command, Option
from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import (
    describe_invalid_character,
    display,
    exact_text,
    os_path,
    resolved_path,
    well_formed,
)

with lazily:
    from directory_indexer.cli.command_server import CommandServer
    from directory_indexer.cluster_app import ClusterApp
    from directory_indexer.integrations.assistants.client_table import client_named
    from directory_indexer.integrations.assistants.clients import launch_of, snippet
    from directory_indexer.server import ServeOptions, serve_http, serve_page, serve_stdio
    from directory_indexer.server.bridge import serve_remote
    from directory_indexer.server.bridge.http_client import parse_remote_address
    from directory_indexer.server.middleware import access
    from directory_indexer.server.middleware.access import (
        Access,
        HttpAddress,
        host_names,
        parse_address,
        read_token,
        server_url,
    )
    from directory_indexer.server.middleware.monitoring import LogFormat
    from directory_indexer.server.ui.hosting import PageOptions, default_port
    from directory_indexer.telemetry.start import start as start_telemetry
    from directory_indexer.telemetry.start import start_leniently

_CONFIG, _DATA_DIR = "DIRINDEX_CONFIG", "DIRINDEX_DATA_DIR"


def server_arguments(
    directories: Iterable[Path], *, watch: bool, config: Path | None, data_dir: Path | None
) -> list[str]:
    """Return the arguments with which an assistant starts the server, with absolute paths.

    Raises:
        UsageError: a directory does not exist, or its name is not valid UTF-8.
    """
    allowed = [resolved_path(directory) for directory in directories]
    if missing := [display(directory) for directory in allowed if not os.path.isdir(os_path(directory))]:
        raise UsageError(f"no such directory: {', '.join(missing)}", hint="check the path")
    arguments = ["serve", *map(exact_text, allowed), *(["--watch"] if watch else [])]
    for option, path, variable in (("--config", config, _CONFIG), ("--data-dir", data_dir, _DATA_DIR)):
        named = path or os.environ.get(variable)
        arguments += [option, os.path.abspath(os.path.expanduser(named))] if named else []
    if unwritable := next(filter(describe_invalid_character, arguments), ""):
        raise UsageError(
            f"'{well_formed(unwritable)}' is not UTF-8, which the settings of assistants require",
            hint="rename the directory, or give another one",
        )
    return arguments


def unset_variables_note() -> list[str]:
    """Return a note about variables of this shell that configure a server and that an assistant does not set."""
    passed_on = {_CONFIG, _DATA_DIR, access.TOKEN_VARIABLE}
    variables = sorted(name for name in os.environ if name.startswith("DIRINDEX_") and name not in passed_on)
    return (
        [f"the assistant does not see {', '.join(variables)}: use the configuration file instead"] if variables else []
    )


_LogFormat = Literal["text", "json"]


class ServeCall(Call):
    """The command line of `serve`."""

    directories: Annotated[
        tuple[Path, ...],
        Argument("Additional directories that clients may index.", parse=parse_path, metavar="[DIR]..."),
    ] = ()
    http: Annotated[
        str | None, Option(("--http",), "Serve streamable HTTP here, not standard input.", metavar="HOST:PORT")
    ] = None
    token_file: Annotated[
        Path | None,
        Option(
            ("--token-file",),
            "Bearer token with all rights for HTTP clients; with --remote, the token or key for that server.",
            metavar="FILE",
            parse=parse_path,
        ),
    ] = None
    no_token: Annotated[bool, Option(("--no-token",), "Let every user of this machine read the index over HTTP.")] = (
        False
    )
    allow_host: Annotated[
        tuple[str, ...], Option(("--allow-host",), "Host name that HTTP clients may use.", metavar="NAME")
    ] = ()
    remote: Annotated[
        str | None, Option(("--remote",), "Serve the index of another server, on standard input.", metavar="URL")
    ] = None
    allow_http: Annotated[bool, Option(("--allow-http",), "Let --remote send the token and documents unencrypted.")] = (
        False
    )
    log_format: Annotated[_LogFormat, Option(("--log-format",), "Log format of an HTTP server.")] = "text"
    watch: Annotated[bool, Option(("--watch",), "Also keep tracked directories up to date.")] = False
    print_config: Annotated[
        str | None, Option(("--print-config",), "Print the configuration entry for a client.", metavar="CLIENT")
    ] = None
    config: ConfigFile = None
    data_dir: DataDir = None
    quiet: Annotated[bool, Option(("--quiet", "-q"), "Show no notes.")] = False
    verbose: Verbose = False


def serve(call: ServeCall) -> None:
    """Serve the index to assistants over MCP.

    MCP runs on standard input and output, or with --http over HTTP, beside a JSON API.
    """
    output = Output(quiet=call.quiet, verbose=call.verbose)
    allowed = tuple(resolved_path(directory) for directory in call.directories)
    if call.remote is not None:
        _reject_options_with_remote(
            http=call.http, no_token=call.no_token, watch=call.watch, print_config=call.print_config
        )
        address = parse_remote_address(call.remote, allow_http=call.allow_http)
        token = read_token(call.token_file, os.environ)
        private = (resolved_path(call.token_file),) if call.token_file else ()
        app = open_app(call.config, call.data_dir, output)
        start_leniently(app.loaded.config.telemetry, os.environ)
        serve_remote(app, address, token, allowed=allowed, private=private, verbose=call.verbose)
    access = (
        None
        if call.http is None
        else _access(call.http, call.allow_host, call.token_file, needs_token=not call.no_token)
    )
    if call.print_config is not None:
        arguments = server_arguments(call.directories, watch=call.watch, config=call.config, data_dir=call.data_dir)
        _print_config(call.print_config, arguments, access, output)
        return
    app = open_app(call.config, call.data_dir, output)
    if app.loaded.config.serving.from_cluster:
        app = ClusterApp(app.loaded)
    output.notes(
        f"no directory now: {display(directory)}" for directory in allowed if not os.path.isdir(os_path(directory))
    )
    watches = call.watch or app.loaded.config.monitoring.file_watching
    configured = (resolved_path(directory) for directory in app.loaded.config.serving.directories)
    options = ServeOptions(tuple(dict.fromkeys([*allowed, *configured])), watch=watches, verbose=call.verbose)
    CommandServer(app).start()
    if access is None:
        start_leniently(app.loaded.config.telemetry, os.environ)
        serve_stdio(app, options)
    start_telemetry(app.loaded.config.telemetry, os.environ)
    serve_http(app, options, access, LogFormat(call.log_format))


def _reject_options_with_remote(**options: object) -> None:
    if beside := [f"--{name.replace('_', '-')}" for name, value in options.items() if value]:
        raise UsageError(f"--remote does not go with {', '.join(beside)}", hint="leave out one of them")


def _access(http: str, allow_host: Sequence[str], token_file: Path | None, *, needs_token: bool) -> Access:
    address = parse_address(http)
    return Access(address, host_names(allow_host, address), read_token(token_file, os.environ), needs_token)


def _print_config(name: str, arguments: Sequence[str], access: Access | None, output: Output) -> None:
    client = client_named(name)
    if access is None:
        output.data(snippet(client, launch_of(arguments)))
        output.notes([f"this goes into {client.where}", *unset_variables_note()])
        return
    output.data(snippet(client, launch_of(arguments, url=server_url(access), has_token=access.needs_token)))
    launch = launch_of([*arguments, *_http_options(access)])
    output.notes([f"this goes into {client.where}"])
    output.notes(["put the token, or a key, in the place of TOKEN"] if access.needs_token else [])
    output.notes([f"the server has to run: {shlex.join([launch.command, *launch.arguments])}", *unset_variables_note()])


def _http_options(access: Access) -> list[str]:
    address = access.address
    names = [option for name in access.names if name != socket.gethostname() for option in ("--allow-host", name)]
    token = ["--token-file", "FILE"] if access.needs_token else ["--no-token"]
    return ["--http", f"{address.host_in_url}:{address.port}", *names, *token]


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


COMMANDS = {
    "serve": Command(ServeCall, serve),
    "ui": Command(UiCall, ui),
}
