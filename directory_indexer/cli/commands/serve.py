"""Serve the index to assistants."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import ConfigFile, DataDir, Verbose, given_path, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, exact_text, resolved_path

with lazily:
    from directory_indexer.server import ServeOptions, serve_http, serve_stdio
    from directory_indexer.server.client_configs import client_named, launch_of, place, snippet
    from directory_indexer.server.gate.access import Access, names_of, parse_address, read_token
    from directory_indexer.server.gate.logs import LogFormat

cli = new_command_line()

_LogFormat = Literal["text", "json"]


@cli.command()
def serve(
    *,
    directories: Annotated[
        list[Path] | None,
        typer.Argument(parser=given_path, help="Directories that clients may have indexed, beside the tracked ones."),
    ] = None,
    http: Annotated[
        str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP here, not standard input.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", parser=given_path, help="Bearer token with all rights for HTTP clients."
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every user of this machine read the index over HTTP.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="Name that HTTP clients may call it by.")
    ] = None,
    log_format: Annotated[
        _LogFormat, typer.Option("--log-format", help="How the log of an HTTP server is written.")
    ] = "text",
    watch: Annotated[bool, typer.Option("--watch", help="Keep the tracked directories fresh meanwhile.")] = False,
    print_config: Annotated[
        str | None,
        typer.Option("--print-config", metavar="CLIENT", help="Print what goes into the configuration of a client."),
    ] = None,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no notes.")] = False,
    verbose: Verbose = False,
) -> None:
    """Serve the index to assistants over MCP, on standard input and output, or over HTTP together with an API."""
    output = Output(quiet=quiet, verbose=verbose, as_json=False)
    allowed = tuple(resolved_path(one) for one in directories or ())
    access = None if http is None else _access(http, allow_host or (), token_file, needs_token=not no_token)
    if print_config is not None:
        _print_config(print_config, allowed, access, output, watch=watch, config=config, data_dir=data_dir)
        return
    app = open_app(config, data_dir, output)
    watches = watch or app.loaded.config.monitoring.file_watching
    configured = (resolved_path(one) for one in app.loaded.config.serving.directories)
    options = ServeOptions(tuple(dict.fromkeys([*allowed, *configured])), watch=watches, verbose=verbose)
    if access is None:
        serve_stdio(app, options)
    serve_http(app, options, access, LogFormat(log_format))


def _access(http: str, allow_host: Sequence[str], token_file: Path | None, *, needs_token: bool) -> Access:
    address = parse_address(http)
    return Access(address, names_of(allow_host, address), read_token(token_file, os.environ), needs_token)


def _print_config(
    name: str,
    allowed: Sequence[FilePath],
    access: "Access | None",
    output: Output,
    *,
    watch: bool,
    config: Path | None,
    data_dir: Path | None,
) -> None:
    client = client_named(name)
    arguments = ["serve", *map(exact_text, allowed), *(["--watch"] if watch else [])]
    # The client will not have the environment of this shell.
    given = (("--config", config, "DIRINDEX_CONFIG"), ("--data-dir", data_dir, "DIRINDEX_DATA_DIR"))
    for option, path, variable in given:
        named = path or os.environ.get(variable)
        arguments += [option, os.path.abspath(os.path.expanduser(named))] if named else []
    url = f"http://{access.address.host_in_url}:{access.address.port}/mcp" if access else ""
    has_token = access is not None and access.needs_token
    output.data(snippet(client, launch_of(arguments, url=url, has_token=has_token)))
    output.notes([f"this goes into {place(client)}"])
    output.notes(["put the token in the place of TOKEN"] if has_token else [])
