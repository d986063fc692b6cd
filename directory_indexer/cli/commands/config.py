"""`dirindex config`: show the configuration, or write an example to start from."""

import os
from typing import Annotated

import typer

from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, Quiet, Verbose, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer import policies
    from directory_indexer.config import config_location, load_config
    from directory_indexer.config.settings import write_example
    from directory_indexer.embedding import models
    from directory_indexer.text import json_pages, reports

cli = new_command_line()


@cli.callback(invoke_without_command=True)
def show_config(
    *,
    context: typer.Context,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Show every value of the configuration and where it comes from."""
    if context.invoked_subcommand:
        return
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    policies.added_formats(loaded.config.indexing)
    if advice := models.advice(policies.embedding_space(loaded.config.embedding)):
        loaded = loaded._replace(warnings=(*loaded.warnings, advice))
    if as_json:
        output.data(json_pages.config_json(loaded))
    else:
        output.lines(reports.config_lines(loaded))
    output.notes(loaded.warnings)


@cli.command("init")
def init_config(
    *,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no notes.")] = False,
) -> None:
    """Write a configuration file in which every key is explained."""
    path = config_location(file=config, data_dir=data_dir, environ=os.environ).value
    write_example(path)
    Output(quiet=quiet, verbose=False, as_json=False).notes([f"{path} written; every line of it is a comment"])
