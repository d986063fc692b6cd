"""Command-line arguments of a server that an assistant starts, without the environment of this shell."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import display, exact_text, invalid_character_in, os_path, resolved_path, well_formed

with lazily:
    from directory_indexer.server.middleware import access

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
    if unwritable := next(filter(invalid_character_in, arguments), ""):
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
