"""Entries in YAML: inserted as lines at the head of their mapping, which the parser locates.

Nothing is reformatted: the rest of a file keeps its comments, anchors and quotation marks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from directory_indexer.assistants.entries import EditRefusedError, Keys
from directory_indexer.assistants.line_ends import line_end_of
from directory_indexer.assistants.structured import Cut, Structured
from directory_indexer.assistants.yaml_events import (
    Event,
    Found,
    events_of,
    member_of,
    tree_of_events,
    tree_of_value,
)

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


def _cut_flow(text: str, events: Sequence[Event], entry: Found) -> str:
    start, stop = events[entry.key].start, events[entry.after - 1].end
    following = text[stop:].lstrip()
    if following.startswith(","):
        rest = following[1:]
        return text[:start] + (rest.lstrip(" ") if rest[:1] == " " else rest)
    return text[:start].rstrip().removesuffix(",") + text[stop:]


def _stop_of(text: str, events: Sequence[Event], entry: Found) -> int:
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
