"""Events of a YAML parser with their offsets; aliases are read as names and never followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from directory_indexer.assistants.entries import EditRefusedError
from directory_indexer.lazy import lazily

with lazily:
    from ruamel import yaml

_MOST_CHARACTERS: Final = 200_000
"""The parser is written in Python and takes a second for this much, five for crafted input."""

_MOST_LEVELS: Final = 100


class Event(NamedTuple):
    """A scalar, an alias, or the beginning or end of a mapping or list, with offsets; `column` is that of its start."""

    kind: str
    value: str
    is_flow: bool
    start: int
    end: int
    column: int


class Found(NamedTuple):
    """A member of a mapping, by the indexes of the events of its key, its value and what follows it."""

    key: int
    value: int
    after: int


def events_of(text: str) -> list[Event]:
    """Parse the only document of a text; without one, there are no events.

    Raises:
        EditRefusedError: it is not YAML, has several documents, or is too large or too deep.
    """
    if len(text) > _MOST_CHARACTERS:
        raise EditRefusedError(f"it has more than {_MOST_CHARACTERS:,} characters")
    events: list[Event] = []
    depth = n_documents = 0
    try:
        for event in yaml.YAML(typ="safe", pure=True).parse(text):
            kind = type(event).__name__.removesuffix("Event")
            n_documents += kind == "DocumentStart"
            depth += (
                kind.endswith("gStart") - kind.endswith("gEnd") + (kind == "SequenceStart") - (kind == "SequenceEnd")
            )
            if depth > _MOST_LEVELS or n_documents > 1:
                raise EditRefusedError("it has several documents" if n_documents > 1 else "it is nested too deep")
            if kind in {"Scalar", "Alias"} or kind.startswith(("Mapping", "Sequence")):
                events.append(_event(kind, event))
    except yaml.error.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise EditRefusedError(f"{place}{getattr(error, 'problem', None) or 'it is not YAML'}") from None
    return events


def tree_of_events(events: Sequence[Event]) -> Any:
    """Return the data of events as mappings and lists of texts; no events are an empty mapping.

    Raises:
        EditRefusedError: a key is not text, or is there more than once.
    """
    return _tree(events, 0)[0] if events else {}


def tree_of_value(value: object) -> Any:
    """Return a value as it would be read from events."""
    if isinstance(value, Mapping):
        return {str(name): tree_of_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [tree_of_value(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def member_of(events: Sequence[Event], mapping: int, name: str) -> Found | None:
    """Return a member of the mapping that begins at an event."""
    key = mapping + 1
    while events[key].kind != "MappingEnd":
        after = _after(events, key + 1)
        if events[key].value == name:
            return Found(key, key + 1, after)
        key = after
    return None


def _event(kind: str, event: Any) -> Event:
    value = event.value if kind == "Scalar" else str(event.anchor) if kind == "Alias" else ""
    start, end = event.start_mark, event.end_mark
    return Event(kind, value, bool(getattr(event, "flow_style", False)), start.index, end.index, start.column)


def _after(events: Sequence[Event], index: int) -> int:
    depth = 0
    while True:
        kind = events[index].kind
        depth += kind.endswith("Start") - kind.endswith("End")
        index += 1
        if not depth:
            return index


def _tree(events: Sequence[Event], index: int) -> tuple[Any, int]:
    event = events[index]
    if event.kind == "SequenceStart":
        return _list(events, index + 1)
    if event.kind == "MappingStart":
        return _mapping(events, index + 1)
    return f"*{event.value}" if event.kind == "Alias" else event.value, index + 1


def _list(events: Sequence[Event], index: int) -> tuple[list[Any], int]:
    items = []
    while events[index].kind != "SequenceEnd":
        item, index = _tree(events, index)
        items.append(item)
    return items, index + 1


def _mapping(events: Sequence[Event], index: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    while events[index].kind != "MappingEnd":
        key, value = events[index], index + 1
        if key.kind != "Scalar" or (key.value in members and key.value != "<<"):
            raise EditRefusedError(
                f"the key '{key.value}' is there more than once" if key.kind == "Scalar" else "a key is not text"
            )
        members[key.value], index = _tree(events, value)
    return members, index + 1
