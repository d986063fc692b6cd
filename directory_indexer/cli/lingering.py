"""Background process that a command leaves running: it keeps the index loaded, and answers the next commands.

It ends after `serving.linger_minutes` without a command, with the session of the terminal or script that started
it, when a client of another version connects, and when its socket is replaced.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from directory_indexer.app import App
from directory_indexer.cli.caller import secure_streams
from directory_indexer.cli.command_server import CommandServer
from directory_indexer.config import LoadedConfig, load_config
from directory_indexer.config.settings import with_absolute_paths
from directory_indexer.core.isolation import GC_THRESHOLD, NEUTRAL_DIRECTORY, isolated_command, without_python_settings
from directory_indexer.core.kept_files import keep_private

_MINUTE_SECONDS: Final = 60.0


def leave_process(loaded: LoadedConfig) -> subprocess.Popen[bytes]:
    """Start a process for the next commands; it ends at once if there is one already.

    Raises:
        OSError: the system refuses.
    """
    words = (str(loaded.data_dir), str(loaded.file or ""), str(os.getsid(0)))
    return subprocess.Popen(  # noqa: S603 - this program
        isolated_command("directory_indexer.cli.lingering:linger", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=NEUTRAL_DIRECTORY,
        env=without_python_settings(with_absolute_paths(os.environ)),
        start_new_session=True,  # an interrupt from the keyboard is for the command alone
    )


def linger() -> None:
    """Answer commands until idle or outdated; `sys.argv` holds the data directory, configuration and session."""
    data_dir, file, session = sys.argv[1:4]
    gc.set_threshold(GC_THRESHOLD)
    keep_private()
    secure_streams()
    loaded = load_config(file=Path(file) if file else None, data_dir=Path(data_dir), environ=os.environ)
    seconds = loaded.config.serving.linger_minutes * _MINUTE_SECONDS
    server = CommandServer(App(loaded))

    def is_wanted() -> bool:
        is_idle = time.monotonic() - server.last_answered_at > seconds
        return not is_idle and not server.is_outdated and _exists(int(session))

    with contextlib.suppress(OSError):
        server.answer_while(is_wanted)
    os._exit(0)


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the session is that of another user, as under sudo
        return True
    return True
