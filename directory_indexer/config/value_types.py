"""Keys of the configuration and their sections: the types of values, with parsing and validation.

`null` means "the default" wherever it is allowed. Sections are named tuples, whose defaults describe the keys: every
command reads them, and making dataclasses takes 4 ms more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from directory_indexer.core.paths import describe_invalid_character

_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_JSON_LIST = re.compile(r"""\s*\[\s*(?:["{]|\]\s*$)""")
"""Lists of texts or objects; a bracket alone may begin a pattern, such as `[ab]*.tmp`."""


class ValidationIssue(NamedTuple):
    """A validation error of a value; `path` is its position within a list or object."""

    message: str
    value: object
    path: str = ""


class SecretText:
    """The key of a service, which only an explicit call reveals."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        """Return the key."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretText) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return "*" * 10

    __repr__ = __str__


class ValueType:
    """The type of a value; `null` is allowed only if the key is optional."""

    expected = ""

    def __init__(self, *, nullable: bool = False) -> None:
        self._nullable = nullable

    def parse(self, text: str) -> object:
        """Parse the text of a variable; invalid text is returned unchanged, and fails validation."""
        return text

    def convert(self, value: object, locate: Callable[[str], Path]) -> object:
        """Convert a parsed value to its final type."""
        del locate
        return value

    def issues(self, value: object) -> Iterator[ValidationIssue]:
        """Yield the validation errors of a value."""
        if isinstance(value, str | Path) and describe_invalid_character(str(value), is_from_system=True):
            yield ValidationIssue("must not contain NUL or an unpaired surrogate", value)
        elif not (value is None and self._nullable) and (message := self._error(value)):
            yield ValidationIssue(message, value)

    def _error(self, value: object) -> str:
        raise NotImplementedError


class Flag(ValueType):
    """True or false."""

    def parse(self, text: str) -> object:  # noqa: D102 - as above
        return _FLAGS.get(text.lower(), text)

    def _error(self, value: object) -> str:
        return "" if isinstance(value, bool) else "must be true or false"


class Integer(ValueType):
    """A whole number within limits."""

    def __init__(self, *, minimum: int, maximum: int | None = None, nullable: bool = False) -> None:
        super().__init__(nullable=nullable)
        self._minimum = minimum
        self._maximum = maximum

    def parse(self, text: str) -> object:  # noqa: D102 - as above
        return int(text) if _INTEGER.fullmatch(text) else text

    def _error(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be a whole number"
        if value < self._minimum:
            return f"must be at least {self._minimum}"
        return f"must be at most {self._maximum}" if self._maximum is not None and value > self._maximum else ""


class CountOrDate(ValueType):
    """False for nothing, true for everything, a number, or a date after which."""

    def parse(self, text: str) -> object:  # noqa: D102 - as above
        return int(text) if _INTEGER.fullmatch(text) else _FLAGS.get(text.lower(), text)

    def _error(self, value: object) -> str:
        if isinstance(value, bool) or (isinstance(value, int) and value > 0):
            return ""
        is_day = isinstance(value, str) and re.fullmatch(r"\d{4}-[01]\d-[0-3]\d", value)
        return "" if is_day else "must be true, false, a number of at least 1, or a day like '2025-01-31'"


class Text(ValueType):
    """Text, which has to match `pattern` as a whole."""

    def __init__(self, pattern: str = ".*", *, message: str = "", nullable: bool = False) -> None:
        super().__init__(nullable=nullable)
        self._pattern = pattern
        self._message = message

    def _error(self, value: object) -> str:
        if not isinstance(value, str):
            return "must be text"
        return "" if re.fullmatch(self._pattern, value, re.DOTALL) else self._message


class OneOf(ValueType):
    """One of several words."""

    def __init__(self, *names: str, nullable: bool = False) -> None:
        super().__init__(nullable=nullable)
        self._names = names

    def _error(self, value: object) -> str:
        *others, last = (f"'{name}'" for name in self._names)
        return "" if value in self._names else f"must be {', '.join(others)} or {last}"


class Location(ValueType):
    """A path, which becomes absolute."""

    def convert(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        return locate(value) if isinstance(value, str) and value else value

    def _error(self, value: object) -> str:
        return "" if isinstance(value, Path) else "must be a path"


class Secret(ValueType):
    """The key of a service, wrapped as soon as it is read."""

    def convert(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        del locate
        return SecretText(value) if isinstance(value, str) else value

    def _error(self, value: object) -> str:
        if not isinstance(value, SecretText):
            return "must be text"
        return "" if value.get_secret_value() else "must not be empty"


class ListOf(ValueType):
    """A list of values of one type; a variable holds it as JSON, or separated by commas."""

    def __init__(self, element: ValueType, *, of: str) -> None:
        super().__init__()
        self._element = element
        self._of = of

    def parse(self, text: str) -> object:  # noqa: D102 - as above
        if _JSON_LIST.match(text):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
        return [self._element.parse(part.strip()) for part in text.split(",") if part.strip()]

    def convert(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        return tuple(self._element.convert(item, locate) for item in value) if isinstance(value, list) else value

    def issues(self, value: object) -> Iterator[ValidationIssue]:  # noqa: D102 - as above
        if not isinstance(value, tuple):
            yield ValidationIssue(f"must be a list of {self._of}", value)
            return
        for number, item in enumerate(value):
            yield from (
                ValidationIssue(issue.message, issue.value, f".{number}{issue.path}")
                for issue in self._element.issues(item)
            )


class Record(ValueType):
    """An object with its own keys; those with a default in `build` are optional."""

    def __init__(self, build: Callable[..., Any], **fields: ValueType) -> None:
        super().__init__()
        self._build = build
        self._fields = fields

    def convert(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        if not isinstance(value, dict) or not value.keys() <= self._fields.keys():
            return value
        try:
            return self._build(**{name: self._fields[name].convert(element, locate) for name, element in value.items()})
        except TypeError:
            return value

    def issues(self, value: object) -> Iterator[ValidationIssue]:  # noqa: D102 - as above
        if not isinstance(value, tuple):
            yield ValidationIssue(self._build_error(value), value)
            return
        for (name, field), element in zip(self._fields.items(), value, strict=True):
            yield from (
                ValidationIssue(issue.message, issue.value, f".{name}{issue.path}") for issue in field.issues(element)
            )

    def _build_error(self, value: object) -> str:
        if not isinstance(value, dict):
            return "must be an object"
        unknown = [name for name in value if name not in self._fields]
        return f"has no key '{unknown[0]}'" if unknown else f"lacks one of {', '.join(self._fields)}"


class Key(NamedTuple):
    """One key: the type of its value, its description and its default.

    The default is `null` if it depends on other settings.
    """

    type: ValueType
    description: str
    default: object


def key(value_type: ValueType, description: str, *, default: object = None) -> Any:
    """Describe a field of a section as a key; the type of the field is that of its values."""
    return Key(value_type, description, default)


def section(record: type) -> Any:
    """Describe a field of a section as a section below it."""
    return record


ENDPOINT = Text(
    r"https?://[^\s/?#@]+(?:[/?#]\S*)?",
    message="must be an http:// or https:// URL without user name or password",
    nullable=True,
)
"""The type of keys that hold the URL of a service."""


def entries_of(section: type) -> Iterator[tuple[str, Key | type]]:
    """Yield the entries of a section in order: keys and subsections."""
    yield from section._field_defaults.items()  # type: ignore[attr-defined]


def keys_below(section: type, prefix: str = "") -> Iterator[tuple[str, Key]]:
    """Yield all keys below a section by their dotted names."""
    for name, entry in entries_of(section):
        if isinstance(entry, Key):
            yield f"{prefix}{name}", entry
        else:
            yield from keys_below(entry, f"{prefix}{name}.")
