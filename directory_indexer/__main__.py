"""Entry point of the command `dirindex` and of `python -m directory_indexer`.

Nothing else is imported before the working directory is removed from the module search path.
"""

import gc
import os
import sys

from directory_indexer.core.isolation import GC_THRESHOLD, forget_working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def start(*entries: str) -> "NoReturn":
    """Run the command without modules from the working directory, or from `entries` of the path."""
    forget_working_directory(*entries)
    from directory_indexer.command_client import answered  # noqa: PLC0415 - see above

    if (code := answered(sys.argv[1:])) is not None:
        os._exit(code)
    # Imported modules stay alive; scanning them repeatedly costs a tenth of a short command.
    gc.set_threshold(GC_THRESHOLD)
    from directory_indexer.cli import main  # noqa: PLC0415 - see above

    main()


if __name__ == "__main__":
    # `python -m` puts the working directory first, unless in safe-path mode.
    start(*([] if sys.flags.safe_path else sys.path[:1]))
