"""Keys of the configuration: the kinds of their values, with parsing and validation, and their sections.

`null` means "the default" wherever it is allowed. Sections are named tuples, whose defaults describe the keys: every
command reads them, and making dataclasses takes 4 ms more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from directory_indexer.core.paths import invalid_character_in

_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}")
_JSON_LIST = re.compile(r"""\s*\[\s*(?:["{]|\]\s*$)""")
"""Lists of texts or objects; a bracket alone may begin a pattern, such as `[ab]*.tmp`."""


class ValidationIssue(NamedTuple):
    """A validation error of a value; `place` is the index of an element in a list."""

    words: str
    value: object
    place: str = ""


class SecretText:
    """The key of a service, whose text is only returned by an explicit call."""

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


class Kind:
    """Any value; `null` is allowed only if the key is optional."""

    expected = ""

    def __init__(self, *, or_null: bool = False) -> None:
        self._or_null = or_null

    def from_text(self, text: str) -> object:
        """Parse the text of a variable; text that cannot be parsed is returned as it is, and is then a mistake."""
        return text

    def typed(self, value: object, locate: Callable[[str], Path]) -> object:
        """Convert a parsed value to the one that the program uses."""
        del locate
        return value

    def mistakes(self, value: object) -> Iterator[ValidationIssue]:
        """Yield the mistakes of a value."""
        if isinstance(value, str | Path) and invalid_character_in(str(value), is_from_system=True):
            yield ValidationIssue("must not contain NUL or an unpaired surrogate", value)
        elif not (value is None and self._or_null) and (words := self._mistake(value)):
            yield ValidationIssue(words, value)

    def _mistake(self, value: object) -> str:
        raise NotImplementedError


class Flag(Kind):
    """True or false."""

    def from_text(self, text: str) -> object:  # noqa: D102 - as above
        return _FLAGS.get(text.lower(), text)

    def _mistake(self, value: object) -> str:
        return "" if isinstance(value, bool) else "must be true or false"


class WholeNumber(Kind):
    """A whole number within limits."""

    def __init__(self, *, at_least: int, at_most: int | None = None, or_null: bool = False) -> None:
        super().__init__(or_null=or_null)
        self._at_least = at_least
        self._at_most = at_most

    def from_text(self, text: str) -> object:  # noqa: D102 - as above
        return int(text) if _WHOLE_NUMBER.fullmatch(text) else text

    def _mistake(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be a whole number"
        if value < self._at_least:
            return f"must be at least {self._at_least}"
        return f"must be at most {self._at_most}" if self._at_most is not None and value > self._at_most else ""


class CountOrDate(Kind):
    """Nothing, everything, a number, or what is newer than a day."""

    def from_text(self, text: str) -> object:  # noqa: D102 - as above
        return int(text) if _WHOLE_NUMBER.fullmatch(text) else _FLAGS.get(text.lower(), text)

    def _mistake(self, value: object) -> str:
        if isinstance(value, bool) or (isinstance(value, int) and value > 0):
            return ""
        is_day = isinstance(value, str) and re.fullmatch(r"\d{4}-[01]\d-[0-3]\d", value)
        return "" if is_day else "must be true, false, a number of at least 1, or a day like '2025-01-31'"


class Text(Kind):
    """Text, which has to match `pattern` as a whole."""

    def __init__(self, pattern: str = ".*", *, otherwise: str = "", or_null: bool = False) -> None:
        super().__init__(or_null=or_null)
        self._pattern = pattern
        self._otherwise = otherwise

    def _mistake(self, value: object) -> str:
        if not isinstance(value, str):
            return "must be text"
        return "" if re.fullmatch(self._pattern, value, re.DOTALL) else self._otherwise


class OneOf(Kind):
    """One of several words."""

    def __init__(self, *names: str, or_null: bool = False) -> None:
        super().__init__(or_null=or_null)
        self._names = names

    def _mistake(self, value: object) -> str:
        *others, last = (f"'{name}'" for name in self._names)
        return "" if value in self._names else f"must be {', '.join(others)} or {last}"


class Location(Kind):
    """A path, which becomes absolute."""

    def typed(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        return locate(value) if isinstance(value, str) and value else value

    def _mistake(self, value: object) -> str:
        return "" if isinstance(value, Path) else "must be a path"


class Secret(Kind):
    """The key of a service, wrapped as soon as it is read."""

    def typed(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        del locate
        return SecretText(value) if isinstance(value, str) else value

    def _mistake(self, value: object) -> str:
        if not isinstance(value, SecretText):
            return "must be text"
        return "" if value.get_secret_value() else "must not be empty"


class ListOf(Kind):
    """A list of values of one kind; a variable holds it as JSON, or separated by commas."""

    def __init__(self, kind: Kind, *, of: str) -> None:
        super().__init__()
        self._kind = kind
        self._of = of

    def from_text(self, text: str) -> object:  # noqa: D102 - as above
        if _JSON_LIST.match(text):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
        return [self._kind.from_text(part.strip()) for part in text.split(",") if part.strip()]

    def typed(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        return tuple(self._kind.typed(element, locate) for element in value) if isinstance(value, list) else value

    def mistakes(self, value: object) -> Iterator[ValidationIssue]:  # noqa: D102 - as above
        if not isinstance(value, tuple):
            yield ValidationIssue(f"must be a list of {self._of}", value)
            return
        for number, element in enumerate(value):
            yield from (
                ValidationIssue(mistake.words, mistake.value, f".{number}{mistake.place}")
                for mistake in self._kind.mistakes(element)
            )


class Record(Kind):
    """An object with keys of its own; those with a default in `made` are optional."""

    def __init__(self, made: Callable[..., Any], **kinds: Kind) -> None:
        super().__init__()
        self._made = made
        self._kinds = kinds

    def typed(self, value: object, locate: Callable[[str], Path]) -> object:  # noqa: D102 - as above
        if not isinstance(value, dict) or not value.keys() <= self._kinds.keys():
            return value
        try:
            return self._made(**{name: self._kinds[name].typed(element, locate) for name, element in value.items()})
        except TypeError:
            return value

    def mistakes(self, value: object) -> Iterator[ValidationIssue]:  # noqa: D102 - as above
        if not isinstance(value, tuple):
            yield ValidationIssue(self._not_made(value), value)
            return
        for (name, kind), element in zip(self._kinds.items(), value, strict=True):
            yield from (
                ValidationIssue(mistake.words, mistake.value, f".{name}{mistake.place}")
                for mistake in kind.mistakes(element)
            )

    def _not_made(self, value: object) -> str:
        if not isinstance(value, dict):
            return "must be an object"
        unknown = [name for name in value if name not in self._kinds]
        return f"has no key '{unknown[0]}'" if unknown else f"lacks one of {', '.join(self._kinds)}"


class Key(NamedTuple):
    """One key: its kind of value, a description for people, and its default.

    The default is `null` where it depends on something else.
    """

    kind: Kind
    words: str
    default: object


def key(kind: Kind, words: str, *, default: object = None) -> Any:
    """Describe a field of a section as a key; the type of the field is that of its values."""
    return Key(kind, words, default)


def section(record: type) -> Any:
    """Describe a field of a section as a section below it."""
    return record


ENDPOINT = Text(
    r"https?://[^\s/?#@]+(?:[/?#]\S*)?",
    otherwise="must be an http:// or https:// URL without user name or password",
    or_null=True,
)
"""The kind of keys that hold the URL of a service."""


def entries_of(section: type) -> Iterator[tuple[str, Key | type]]:
    """Yield the entries of a section in order: keys and subsections."""
    described: dict[str, Key | type] = section._field_defaults  # type: ignore[attr-defined]
    yield from described.items()


def keys_below(section: type, prefix: str = "") -> Iterator[tuple[str, Key]]:
    """Yield all keys below a section by their dotted names."""
    for name, entry in entries_of(section):
        if isinstance(entry, Key):
            yield f"{prefix}{name}", entry
        else:
            yield from keys_below(entry, f"{prefix}{name}.")
