"""Values of arguments that may break a program: texts, and whatever else JSON can hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T")

N_SAMPLED: Final = 5
"""How many values an argument is tried with on every commit; all are tried by night."""

DIGITS: Final = "9" * 400

TEXTS: Final[Mapping[str, str]] = {
    "empty": "",
    "blank": " \t ",
    "null character": "a\0b",
    "half a character": "a\ud800b",
    "other half": "\udfff",
    "byte that is no UTF-8": "b\udce4r",
    "stand-in for a byte": "b\U0010dce4r",
    "control characters": "\x01\x07\x1b[31m\x7f\x85\u202e\u2028\n\r\t",
    "noncharacters": "\ufffe\uffff\U0010ffff\ufeff",
    "many digits": DIGITS,
    "too large a number": "1e400",
    "no number": "NaN",
    "negative": f"-{DIGITS}",
    "megabyte": "x" * 1_000_000,
    "deep": "((((" * 500 + "[[[[" * 500,
    "deep JSON": "[" * 100_000 + "]" * 100_000,
    "pattern": "[!-\\*?{$(`%",
    "path": "/../~root/\0/..",
}
"""By what each is called in the name of a case."""

LITERALS: Final[Mapping[str, str]] = {
    "null": "null",
    "truth": "true",
    "integer of many digits": DIGITS,
    "negative integer": f"-{DIGITS}",
    "infinity": "1e400",
    "fraction": "1.5e-400",
    "largest": str(2**63),
    "object": '{"a\\u0000\\ud800": "\\ud800"}',
    "deep object": '{"a":' * 500 + "1" + "}" * 500,
    "object of large numbers": f'{{"a": {DIGITS}, "b": 1e400, "": ""}}',
    "long list": json.dumps(["x"] * 1000),
    "deep list": "[" * 900 + "]" * 900,
}
"""JSON that is no text."""


def json_values() -> Iterator[tuple[str, str]]:
    """Yield JSON for any argument: texts, lists of one, and all else."""
    for name, text in TEXTS.items():
        yield name, json.dumps(text)
        yield f"list: {name}", json.dumps([text])
    yield from LITERALS.items()


def sampled(values: Mapping[str, T], number: int) -> Mapping[str, T]:
    """Return some values for an argument by its number, other ones for the next, so that all are tried by turns."""
    names = list(values)
    return {name: values[name] for name in (names[(number * N_SAMPLED + at) % len(names)] for at in range(N_SAMPLED))}


def plain_value(schema: Mapping[str, Any]) -> Any:
    """Return what a flat schema allows, for an argument that a case is not about."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "array":
            return []
        case "object":
            return {}
        case _:
            return "x"
