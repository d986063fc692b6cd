"""Starting of other processes of this program, so that nothing of their working directory is ever run.

Python puts the working directory first on the module search path, and indexing a repository must not run its code. A
child therefore runs isolated: it has the module path of this process only, works in a neutral directory, and gets no
variable that changes what Python runs.
"""

# Only modules that Python has already loaded are imported: others might come from the working directory.
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

GC_THRESHOLD = 50_000
"""Number of new objects that triggers the cyclic garbage collector. A child sets it before it imports anything."""

NEUTRAL_DIRECTORY = os.path.dirname(sys.executable) if os.name == "nt" else "/"
"""The working directory of a child."""

_SIGKILL = 9
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def isolated_command(function: str, *arguments: str, is_bare: bool = False) -> tuple[str, ...]:
    """Return the command that calls `package.module:name` without parameters; `arguments` are in `sys.argv`.

    A bare one skips what an installation does at each start of Python (`site`), which takes 5 ms.
    """
    module, _, name = function.partition(":")
    # ASCII text is the same in any encoding of arguments; a separated list could not represent every path.
    # Imported modules stay alive; scanning them repeatedly takes a tenth of the start.
    program = (
        f"import gc, sys; gc.set_threshold({GC_THRESHOLD}); sys.path[:] = {_absolute_path()!a}; "
        f"from {module} import {name}; {name}()"
    )
    bare = ("-S",) if is_bare and _is_found_without_hooks() else ()
    return (sys.executable, *_interpreter_flags(), *bare, "-c", program, *arguments)


def kill_process_groups_on_exit() -> None:
    """Kill process groups when the process that writes their ids to standard input has ended, however it ended.

    A group whose id is written again, negated, has ended by itself.
    """
    groups: set[int] = set()
    for line in sys.stdin:
        number = int(line)
        if number > 0:
            groups.add(number)
        else:
            groups.discard(-number)
    for group in groups:
        try:
            os.killpg(group, _SIGKILL)
        except OSError:  # it has ended meanwhile
            continue


def without_python_settings(environ: "Mapping[str, str]") -> dict[str, str]:
    """Return an environment without variables that change what Python runs.

    Isolation ignores them, but its children might not.
    """
    return {name: value for name, value in environ.items() if not name.upper().startswith("PYTHON")}


def forget_working_directory(*entries: str) -> None:
    """Remove empty and relative entries of PYTHONPATH, and `entries`, from the module search path.

    A directory stays if it contains this program or Python's own modules.
    """
    needed = {os.path.dirname(_PACKAGE), os.path.dirname(os.path.abspath(os.__file__))}
    unwanted = {*_relative_entries(), *entries} - needed
    sys.path[:] = [entry for entry in _absolute_path() if entry not in unwanted]


def _relative_entries() -> list[str]:
    """Return the directories of empty and relative entries of PYTHONPATH; none if the working directory is gone."""
    try:
        return [os.path.abspath(entry) for entry in _python_path() if not os.path.isabs(entry)]
    except FileNotFoundError:
        return []


def _python_path() -> list[str]:
    value = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    return value.split(os.pathsep) if value else []


def _absolute_path() -> list[str]:
    return [entry for entry in sys.path if os.path.isabs(entry)]


def _is_found_without_hooks() -> bool:
    """Whether no module is imported by a hook of an editable installation, which `site` sets up."""
    return not any("editable" in getattr(finder, "__module__", "") for finder in sys.meta_path)


def _interpreter_flags() -> tuple[str, ...]:
    """Return flags for isolation, and those that determine the encoding of file names and the location of byte code."""
    flags = ["-I", "-X", f"utf8={sys.flags.utf8_mode}"]
    if sys.dont_write_bytecode:
        flags.append("-B")
    if sys.pycache_prefix:
        flags += ["-X", f"pycache_prefix={os.path.abspath(sys.pycache_prefix)}"]
    return tuple(flags)
