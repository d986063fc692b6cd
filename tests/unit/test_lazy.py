import subprocess
import sys

import pytest


def run(code: str) -> str:
    """Run a program in a process of its own, where nothing is imported yet."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


BLOCK = """
import sys
from directory_indexer.core.lazy import lazily

with lazily:
    import colorsys
    from fractions import Fraction
    from json import tool
"""


def test_nothing_is_imported_before_it_is_used() -> None:
    assert run(BLOCK + "print({'colorsys', 'fractions', 'json.tool'} & set(sys.modules))") == "set()\n"


@pytest.mark.parametrize(
    ("use", "result"),
    [
        ("colorsys.rgb_to_hsv(0, 0, 0)", "(0.0, 0.0, 0)"),  # a module
        ("Fraction(1, 2)", "1/2"),  # a class
        ("Fraction.from_float(0.5)", "1/2"),
        ("tool.main.__name__", "main"),  # a module of a package
    ],
)
def test_what_is_used_is_the_real_thing(use: str, result: str) -> None:
    assert run(BLOCK + f"print({use})") == f"{result}\n"


def test_imports_outside_of_the_block_are_real() -> None:
    code = BLOCK + "import colorsys as real\nprint(type(real).__name__, type(colorsys).__name__ != 'module')"
    assert run(code) == "module True\n"


def test_a_module_that_is_not_there_is_missed_when_it_is_used() -> None:
    code = """
from directory_indexer.core.lazy import lazily
with lazily:
    import no_such_module
try:
    no_such_module.name
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run(code) == "no_such_module\n"


def test_an_error_in_the_block_leaves_imports_as_they_were() -> None:
    code = """
import builtins
real = builtins.__import__
from directory_indexer.core.lazy import lazily
try:
    with lazily:
        1 / 0
except ZeroDivisionError:
    print(builtins.__import__ is real)
"""
    assert run(code) == "True\n"


@pytest.mark.parametrize(
    "use",
    [
        "list(digits)",
        "'x' in digits",
        "digits == '0'",
        "digits != '0'",
        "{digits}",
        "{digits: 1}",
        "digits[0]",
        "len(digits)",
        "str(digits)",
        "f'{digits}'",
        "'%s' % digits",
        "int | digits",
        "digits | int",
        "isinstance('x', Fraction)",
        "issubclass(int, Fraction)",
        "class Half(Fraction): pass",
    ],
)
def test_what_a_stand_in_cannot_do_for_the_real_thing_is_refused_by_name(use: str) -> None:
    names: dict[str, object] = {}
    exec(f"{BLOCK}    from string import digits", names)  # noqa: S102 - the text is ours
    name = "fractions.Fraction" if "Fraction" in use else "string.digits"
    with pytest.raises(TypeError, match=f"^{name} is imported lazily: it can be called and asked for attributes"):
        exec(use, names)  # noqa: S102
