"""Keys of the configuration, and their arrangement in sections.

`null` means "the default" wherever it is allowed. Sections are named tuples, whose defaults describe the keys: every
command reads them, and making dataclasses takes 4 ms more. Annotations are evaluated for the same reason as in
`records`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from directory_indexer.config.kinds import Kind, Text


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
