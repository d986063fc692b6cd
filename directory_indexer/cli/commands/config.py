"""`dirindex config`: show the configuration, or write an example to start from."""

import os
from typing import Annotated

from directory_indexer.cli.commands import ConfigFile, DataDir, OrdinaryCall, Verbose
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Call, Command, Group, Option
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer import policies
    from directory_indexer.api.reports import config_answer
    from directory_indexer.config import config_location, load_config
    from directory_indexer.config.settings import write_example
    from directory_indexer.embedding import models
    from directory_indexer.text import reports


def show_config(call: OrdinaryCall) -> None:
    """Show every value of the configuration and where it comes from."""
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    loaded = load_config(file=call.config, data_dir=call.data_dir, environ=os.environ)
    policies.added_formats(loaded.config.indexing)
    if advice := models.missing_model_advice(policies.embedding_space(loaded.config.embedding)):
        loaded = loaded._replace(warnings=(*loaded.warnings, advice))
    if call.as_json:
        output.record(config_answer(loaded))
    else:
        output.lines(reports.config_lines(loaded))
    output.notes(loaded.warnings)


class InitConfigCall(Call):
    """The command line of `config init`."""

    config: ConfigFile = None
    data_dir: DataDir = None
    quiet: Annotated[bool, Option(("--quiet", "-q"), "Show no notes.")] = False
    verbose: Verbose = False


def init_config(call: InitConfigCall) -> None:
    """Write a configuration file in which every key is explained."""
    path = config_location(file=call.config, data_dir=call.data_dir, environ=os.environ).value
    write_example(path)
    Output(quiet=call.quiet).notes([f"{path} written; every line of it is a comment"])


COMMANDS = {
    "config": Group(
        {
            "init": Command(InitConfigCall, init_config),
        },
        help="Show every value of the configuration and where it comes from.",
        default=Command(OrdinaryCall, show_config),
    )
}
