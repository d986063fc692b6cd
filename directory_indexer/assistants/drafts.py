"""Files as they will be, while it is planned what to write into them; nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.assistants.config_files import ConfigFile, read_file
from directory_indexer.assistants.formats import FORMATS
from directory_indexer.assistants.record import Edit, digest


class Draft(NamedTuple):
    """A file as it was read, and the text that it is to have; `None` stands for no file."""

    file: ConfigFile
    text: str | None

    @property
    def is_changed(self) -> bool:
        """Return whether there is something to write."""
        return self.text != (self.file.text if self.file.exists else None)


class Drafts:
    """Every file that a plan looks at, by what its path really names."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed
        self._drafts: dict[str, Draft] = {}

    def draft_of(self, path: str) -> Draft:
        """Read a file, or give what is planned for it.

        Raises:
            EditRefusedError: it is no file to write to.
        """
        target = os.path.realpath(path)
        if target not in self._drafts:
            file = read_file(path, self._allowed)
            self._drafts[target] = Draft(file, file.text if file.exists else None)
        return self._drafts[target]

    def plan(self, draft: Draft, text: str | None) -> None:
        """Let a file have another text."""
        self._drafts[draft.file.target] = draft._replace(text=text)

    def changed(self) -> list[Draft]:
        """Return the files that are to be written, in the order in which they were first looked at."""
        return [draft for draft in self._drafts.values() if draft.is_changed]

    def kept(self) -> dict[str, Draft]:
        """Remember what is planned."""
        return dict(self._drafts)

    def go_back(self, kept: dict[str, Draft]) -> None:
        """Plan no more than what was planned then."""
        self._drafts = kept


def splice(before: str, after: str) -> tuple[int, str, str]:
    """Tell what was put in the place of what: the offset, what was removed, what was inserted."""
    start = _n_common(before, after)
    rest = min(len(before), len(after)) - start
    end = min(rest, _n_common(before[::-1], after[::-1]))
    return start, before[start : len(before) - end], after[start : len(after) - end]


def undone(text: str, edit: Edit) -> str:
    """Take an edit back: to the byte where the file is as it was left, else its entry alone.

    Raises:
        EditRefusedError: the file cannot be read any more, or its one thing was changed.
    """
    if digest(text) == edit.after:
        return text[: edit.offset] + edit.removed + text[edit.offset + len(edit.inserted) :]
    form = FORMATS[edit.format]
    without = form.without_entry(text, edit.keys, edit.value, made=edit.made)
    if edit.inserted and text.count(edit.inserted) == 1:
        exact = text.replace(edit.inserted, edit.removed)
        if form.reads_as(exact) == form.reads_as(without):
            return exact
    return without


def _n_common(one: str, other: str) -> int:
    """Count the characters with which both begin; comparing slices is many times as fast as comparing characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
