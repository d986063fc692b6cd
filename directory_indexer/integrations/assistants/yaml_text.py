"""Entries in YAML: inserted as lines at the head of their mapping, which the parser locates.

Nothing is reformatted: the rest of a file keeps its comments, anchors and quotation marks. Aliases are read as names
and never followed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.integrations.assistants.entries import Cut, EditRefusedError, Keys, Structured, line_end_of

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


class MappingMember(NamedTuple):
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


def member_of(events: Sequence[Event], mapping: int, name: str) -> MappingMember | None:
    """Return a member of the mapping that begins at an event."""
    key = mapping + 1
    while events[key].kind != "MappingEnd":
        after = _after(events, key + 1)
        if events[key].value == name:
            return MappingMember(key, key + 1, after)
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


_UNIT: Final = "  "


def tree_of(text: str) -> Any:
    """Parse a text, with all scalars as text; nothing is an empty mapping.

    Raises:
        EditRefusedError: it is no YAML that is understood here.
    """
    return tree_of_events(events_of(text))


def _opened(tree: Any, keys: Keys) -> Any:
    """Return data in which a key without a value is an empty mapping."""
    if isinstance(tree, dict) and tree.get(keys[0]) == "":
        return {**tree, keys[0]: {}}
    return tree


def _inserted(text: str, keys: Keys, value: object) -> str:
    outer, name = keys
    events = events_of(text)
    line_end = line_end_of(text)
    member = member_of(events, 0, outer) if events else None
    if member is None:
        gap = "" if not text or text.endswith("\n") else line_end
        return text + gap + line_end.join([f"{outer}:", *_lines(name, value, _UNIT), ""])
    mapping = events[member.value]
    if mapping.kind == "Scalar":
        at = _line_stop(text, text.index(":", events[member.key].end))
        return text[:at] + "".join(line_end + line for line in _lines(name, value, _UNIT)) + text[at:]
    first = events[member.value + 1]
    if mapping.is_flow:
        flow = f"{name}: {json.dumps(value, ensure_ascii=False)}{'' if first.kind == 'MappingEnd' else ', '}"
        return text[: mapping.start + 1] + flow + text[mapping.start + 1 :]
    at = first.start - first.column
    return text[:at] + "".join(line + line_end for line in _lines(name, value, " " * first.column)) + text[at:]


def _lines(name: str, value: object, indentation: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{indentation}{name}: {json.dumps(value, ensure_ascii=False)}"]
    members = (f"{indentation}{_UNIT}{key}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
    return [f"{indentation}{name}:", *members]


def _cut(text: str, cut: Cut) -> str:
    outer_name, name = cut.keys
    events = events_of(text)
    outer = member_of(events, 0, outer_name)
    entry = member_of(events, outer.value, name) if outer else None
    if outer is None or entry is None:
        raise EditRefusedError(f"'{name}' is not in it")
    if events[outer.value].is_flow:
        return _cut_flow(text, events, entry)
    stop = _stop_of(text, events, entry)
    if outer_name not in cut.left:
        return text[: _line_start(text, events[outer.key].start)] + text[stop:]
    start = _line_start(text, events[entry.key].start)
    if not cut.left[outer_name]:
        colon = text.index(":", events[outer.key].end) + 1
        return text[:colon] + " {}" + text[colon:start] + text[stop:]
    return text[:start] + text[stop:]


def _cut_flow(text: str, events: Sequence[Event], entry: MappingMember) -> str:
    start, stop = events[entry.key].start, events[entry.after - 1].end
    following = text[stop:].lstrip()
    if following.startswith(","):
        rest = following[1:]
        return text[:start] + (rest.lstrip(" ") if rest[:1] == " " else rest)
    return text[:start].rstrip().removesuffix(",") + text[stop:]


def _stop_of(text: str, events: Sequence[Event], entry: MappingMember) -> int:
    """Return the end of the last line of an entry; comments after a block are not part of it."""
    last = max(
        event.end for event in events[entry.key : entry.after] if event.kind in {"Scalar", "Alias"} or event.is_flow
    )
    last = max(
        last, *(event.end for event in events[entry.key : entry.after] if text[event.start : event.end] in {"]", "}"})
    )
    if text[last - 1 : last] == "\n":  # a literal block includes its line end
        return last
    stop = _line_stop(text, last)
    return stop + (2 if text[stop : stop + 2] == "\r\n" else len(text[stop : stop + 1]))


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _line_stop(text: str, offset: int) -> int:
    stop = text.find("\n", offset)
    stop = len(text) if stop < 0 else stop
    return stop - (text[stop - 1 : stop] == "\r" and stop > offset)


YAML: Final = Structured(tree_of, insert=_inserted, cut=_cut, opened=_opened, written=tree_of_value)
