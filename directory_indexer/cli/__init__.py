"""The `dirindex` command: runs a command and maps every outcome to an exit code.

Commands are imported after signals, the garbage collector and threads are configured, since imports are most of what a
short command costs.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from typing import NoReturn

from directory_indexer.cli.caller import secure_streams
from directory_indexer.command_client import can_be_answered, data_directory
from directory_indexer.core.errors import DirIndexError, ExitCode, UnavailableError, UsageError
from directory_indexer.core.isolation import GC_THRESHOLD
from directory_indexer.core.kept_files import file_mode, keep_private
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import describe_invalid_character, well_formed
from directory_indexer.telemetry import spans

with lazily:
    import traceback

    from directory_indexer.cli.caller import current_caller
    from directory_indexer.cli.command_line import cli
    from directory_indexer.cli.command_table import is_command, parsed_command
    from directory_indexer.cli.lingering import leave_process
    from directory_indexer.cli.output import Output


__all__ = ["main"]

_EXHAUSTION_ERRORS = {
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.ENOMEM,
    errno.EFBIG,
    errno.EAGAIN,
}
_REFUSAL_ERRORS = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ESTALE,
}
_OPTIONS_OF_COMMANDS = frozenset(("--json", "--config", "--data-dir", "--quiet", "-q", "--verbose", "-v"))
_MAX_SHOWN_CHARS = 80
_MAX_DIGITS = 5
_NO_THREAD_MESSAGE = "can't start new thread"


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A search by meaning makes 55,000 objects, nearly all of them in imported modules.
    gc.set_threshold(2 * GC_THRESHOLD)
    secure_streams()
    # Each additional NumPy thread costs milliseconds at start-up, and no large matrices are multiplied here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _remove_impossible_terminal_sizes()
    code = _exit_code()
    spans.close()
    with contextlib.suppress(OSError, UnavailableError):
        sys.stderr.flush()
        sys.stdout.flush()
    _leave_process(sys.argv[1:])
    # A regular exit closes the vector engine, which takes up to 0.2 s and drops its files from the page cache.
    os._exit(code)


def _remove_impossible_terminal_sizes() -> None:
    """Remove sizes that no terminal has: libraries would fail to convert them."""
    for name in ("COLUMNS", "LINES"):
        if len(os.environ.get(name, "")) > _MAX_DIGITS:
            del os.environ[name]


def _leave_process(arguments: Sequence[str]) -> None:
    """Leave a process behind for the next commands, if the configuration wants one."""
    if can_be_answered(arguments) and (loaded := current_caller().loaded) and loaded.config.serving.linger_minutes:
        with contextlib.suppress(OSError):
            leave_process(loaded)


def _exit_code() -> int:
    try:
        # The vector engine rewrites small files when it opens and closes a generation.
        keep_private()
        _require_valid_characters(sys.argv[1:])
        _require_command_first(sys.argv[1:])
        code = _run()
    except DirIndexError as error:
        return _report_error(error)
    except BrokenPipeError:
        # The reader closed the pipe; nothing more can be written, not even by the interpreter's exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except SystemExit as end:
        return int(end.code or 0)
    except Exception as error:  # noqa: BLE001 - the one place where a bug becomes an exit code
        refusal = _usage_error(error) or _unavailable_error(error)
        return _report_error(refusal) if refusal else _report_bug(error)
    return int(code or 0)


def _run() -> int | None:
    if run := parsed_command(sys.argv[1:]):
        return run()
    # Typer prints usage errors itself, unless they have to be JSON.
    code: int | None = cli(prog_name="dirindex", windows_expand_args=False, standalone_mode=not _as_json())
    return code


def _require_valid_characters(arguments: Iterable[str]) -> None:
    """Reject characters that no path and no text can contain, before any command reads the arguments.

    Raises:
        UsageError: an argument holds one.
    """
    for argument in arguments:
        if invalid := describe_invalid_character(argument, is_from_system=True):
            start = well_formed(argument[:_MAX_SHOWN_CHARS])
            raise UsageError(f"the argument '{start}' contains {invalid}", hint="write it without that character")


def _require_command_first(arguments: Sequence[str]) -> None:
    """Raise a usage error if an option of a command precedes the command, with a hint.

    Typer would only say that there is no such option.
    """
    option = arguments[0].partition("=")[0] if arguments else ""
    if option not in _OPTIONS_OF_COMMANDS:
        return
    if command := next(filter(is_command, arguments), None):
        raise UsageError(
            f"{option} stands before the command", hint=f"options belong after it: dirindex {command} … {option}"
        )


def _as_json() -> bool:
    options = list(takewhile(lambda argument: argument != "--", sys.argv[1:]))
    return "--json" in options or "--format=json" in options or ("--format", "json") in pairwise(options)


def _report_error(error: DirIndexError) -> int:
    output = Output(as_json=_as_json())
    try:
        output.error(error)
    except (OSError, UnavailableError) as unwritable:
        output.as_json = False
        output.error(unwritable if isinstance(unwritable, UnavailableError) else error)
    return error.exit_code


def _usage_error(error: Exception) -> DirIndexError | None:
    """Return the parser's usage error as ours, if it is one."""
    message, context = getattr(error, "format_message", None), getattr(error, "ctx", None)
    if message is None:
        return None
    command = context.command_path if context else "dirindex"
    return UsageError(message(), hint=f"{command} --help shows its arguments")


def _unavailable_error(error: Exception) -> DirIndexError | None:
    """Return the error for a resource that the system refused, if that is the cause."""
    hint = "nothing that was written is lost: run the same command again when there is more of it"
    if isinstance(error, MemoryError):
        return UnavailableError("there is not enough memory", hint=hint)
    if isinstance(error, ImportError) and not (error.name or "").startswith("directory_indexer"):
        return UnavailableError(
            f"a library cannot be loaded: {_root_message(error)}", hint="free some memory, or install dirindex again"
        )
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD_MESSAGE:
        return UnavailableError("cannot start another thread", hint="allow more processes (ulimit -u)")
    return _system_error(error, hint) if isinstance(error, OSError) else None


def _system_error(error: OSError, hint: str) -> DirIndexError | None:
    if error.filename is None and not _has_working_directory():
        return UsageError("the working directory no longer exists", hint="change to another one, or use absolute paths")
    if error.errno in _EXHAUSTION_ERRORS:
        return UnavailableError(f"the operating system refused: {error.strerror}", hint=hint)
    if error.errno in _REFUSAL_ERRORS:
        what = "" if error.filename is None else f" '{error.filename}'"
        return UnavailableError(f"the operating system refused{what}: {error.strerror}")
    return None


def _root_message(error: BaseException) -> str:
    """Return the innermost cause in one line: libraries wrap it in pages of advice."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error).strip().partition("\n")[0]


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


_LOG_FLAGS = os.O_CREAT | os.O_APPEND | os.O_WRONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK"))
"""Members of a group that shares the directory could put a symbolic link to one of our files there, or a pipe."""


def _report_bug(error: Exception) -> int:
    text = "".join(traceback.format_exception(error))
    log = os.path.join(data_directory(sys.argv[1:]), "dirindex.log")
    try:
        with open(os.open(log, _LOG_FLAGS, file_mode()), "a", encoding="utf-8") as file:
            file.write(text)
        where = f"the traceback is in {log}"
    except OSError:
        where = text
    sys.stderr.write(f"dirindex: this is a bug ({type(error).__name__}: {error}); {where}\n")
    return ExitCode.BUG
