"""How another process of this program is started, so that nothing of the directory it is started in is ever run.

Python puts the working directory first on the path that modules are found on, and indexing a repository is no reason
to run its code. So a child runs isolated: it finds modules where this process does and nowhere else, works in a
directory that has nothing to do with any tree, and hears of no variable that changes what Python runs.
"""

# Nothing is imported that Python has not loaded already: it might come from the working directory.
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

GC_THRESHOLD = 50_000
"""After how many new objects Python looks for cycles among them. A child is told before it can import anything."""

NEUTRAL_DIRECTORY = os.path.dirname(sys.executable) if os.name == "nt" else "/"
"""Where a child works."""

_KILL = 9
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def isolated_command(function: str, *arguments: str, is_bare: bool = False) -> tuple[str, ...]:
    """Make the command that calls `package.module:name` without parameters; `arguments` are in `sys.argv`.

    A bare one does without what an installation has done at each start of Python (`site`), which takes 5 ms.
    """
    module, _, name = function.partition(":")
    # Text in ASCII is the same in whatever encoding arguments have; a separated list would not hold every path.
    # What is imported stays: to look through it again and again takes a tenth of the start.
    program = (
        f"import gc, sys; gc.set_threshold({GC_THRESHOLD}); sys.path[:] = {_absolute_path()!a}; "
        f"from {module} import {name}; {name}()"
    )
    bare = ("-S",) if is_bare and _finds_on_path() else ()
    return (sys.executable, *_flags(), *bare, "-c", program, *arguments)


def end_groups() -> None:
    """End process groups when the process that writes their numbers to standard input has ended, however it ended.

    A group whose number it writes again, with a minus sign, has ended by itself.
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
            os.killpg(group, _KILL)
        except OSError:  # it has ended meanwhile
            continue


def without_python_settings(environ: "Mapping[str, str]") -> dict[str, str]:
    """Leave out the variables that change what Python runs; isolation ignores them, but its children might not."""
    return {name: value for name, value in environ.items() if not name.upper().startswith("PYTHON")}


def forget_working_directory(*entries: str) -> None:
    """Have no module found any more where an empty or relative entry of PYTHONPATH, or one of `entries`, leads.

    Such a directory stays where the program itself, or those of Python, lie in it.
    """
    needed = {os.path.dirname(_PACKAGE), os.path.dirname(os.path.abspath(os.__file__))}
    unwanted = {*_relative_entries(), *entries} - needed
    sys.path[:] = [entry for entry in _absolute_path() if entry not in unwanted]


def _relative_entries() -> list[str]:
    """Say where empty and relative entries of PYTHONPATH lead: nowhere if the working directory is gone."""
    try:
        return [os.path.abspath(entry) for entry in _python_path() if not os.path.isabs(entry)]
    except FileNotFoundError:
        return []


def _python_path() -> list[str]:
    value = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    return value.split(os.pathsep) if value else []


def _absolute_path() -> list[str]:
    return [entry for entry in sys.path if os.path.isabs(entry)]


def _finds_on_path() -> bool:
    """Return whether nothing is imported by a hook of an editable installation, which `site` sets up."""
    return not any("editable" in getattr(finder, "__module__", "") for finder in sys.meta_path)


def _flags() -> tuple[str, ...]:
    """Isolation, and what decides how names of files are read and where byte code is kept."""
    flags = ["-I", "-X", f"utf8={sys.flags.utf8_mode}"]
    if sys.dont_write_bytecode:
        flags.append("-B")
    if sys.pycache_prefix:
        flags += ["-X", f"pycache_prefix={os.path.abspath(sys.pycache_prefix)}"]
    return tuple(flags)
