"""Uses of lazily imported names that `scripts/check` refuses, and those that it allows."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

BLOCK = """
with lazily:
    import colorsys
    from enum import StrEnum
    from fractions import Fraction
    from http import HTTPStatus
    from json import JSONDecodeError, dumps, tool
    from string import digits as numerals
"""


@pytest.fixture(scope="module")
def check() -> Any:
    path = Path(__file__).parents[2] / "scripts" / "check_lazy_names"
    loader = SourceFileLoader(path.name, str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "use",
    [
        "try: f()\nexcept JSONDecodeError: pass",
        "try: f()\nexcept (OSError, JSONDecodeError): pass",
        "with suppress(JSONDecodeError): f()",
        "with raises(JSONDecodeError): f()",
        "raise JSONDecodeError",
        "isinstance(x, Fraction)",
        "isinstance(x, (int, Fraction))",
        "issubclass(x, Fraction)",
        "class Half(Fraction): pass",
        "match x:\n    case Fraction(): pass",
        "for x in numerals: f(x)",
        "[x for x in HTTPStatus]",
        "first, *rest = numerals",
        "f(*numerals)",
        "f(**numerals)",
        "', '.join(numerals)",
        "list(HTTPStatus)",
        "sorted(numerals)",
        "dict(numerals)",
        "len(numerals)",
        "x == numerals",
        "x is dumps",
        "x in numerals",
        "x < numerals",
        "{numerals, 'x'}",
        "{numerals: 1}",
        "[numerals]",
        "(numerals, x)",
        "numerals[0]",
        "x[numerals]",
        "if numerals: f()",
        "not numerals",
        "x or numerals",
        "numerals if x else y",
        "bool(numerals)",
        "f'{numerals}'",
        "'{}'.format(numerals)",
        "str(numerals)",
        "numerals + x",
        "Fraction | None",
        "f(numerals)",
        "f(x=numerals)",
        "f(HTTPStatus)",
        "def g(x=numerals): pass",
        "other = numerals",
        "{'x': numerals}",
        "def g():\n    return numerals",
        "def g(x=(y := numerals)): pass",
        "[numerals for x in f()]",
        "def g(numerals): pass\ng(numerals)",
    ],
)
def test_what_a_stand_in_is_no_replacement_for_is_refused_with_its_line(check: Any, use: str) -> None:
    [(line, reason)] = check.refusals(f"{BLOCK}\n{use}\n")
    assert line > BLOCK.count("\n")
    assert "is imported lazily, and" in reason


@pytest.mark.parametrize(
    "use",
    [
        "Fraction(1, 2)",
        "Fraction.from_float(0.5)",
        "colorsys.rgb_to_hsv(0, 0, 0)",
        "numerals.join(x)",
        "for x in numerals.split(): f(x)",
        "try: f()\nexcept tool.JSONDecodeError: pass",
        "raise JSONDecodeError('x', 'y', 0)",
        "list(HTTPStatus.__members__)",
        "f(Fraction)",
        "f(x, convert=dumps)",
        "map(dumps, x)",
        "filter(dumps, x)",
        "sorted(x, key=dumps)",
        "partial(dumps, x)",
        "def g(convert=dumps): pass",
        "def g(*, convert=dumps): pass",
        "{'a': dumps, 'b': tool, 'c': colorsys}",
        "def g(x: Fraction) -> Fraction: pass",
        "x: Fraction | None = None",
        "def g(numerals):\n    return list(numerals)",
        "def g():\n    numerals = x\n    return list(numerals)",
        "[numerals for numerals in f()]",
        "lambda numerals: list(numerals)",
        "numerals = 1",
    ],
)
def test_calls_attributes_and_callables_that_are_passed_on_are_allowed(check: Any, use: str) -> None:
    assert list(check.refusals(f"{BLOCK}\n{use}\n")) == []


def test_names_that_are_imported_at_once_may_be_used_in_any_way(check: Any) -> None:
    assert list(check.refusals(f"{BLOCK}\nfrom string import ascii_letters\nlist(ascii_letters)\n")) == []
