"""Planned contents of files; nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.assistants.config_files import ConfigFile, read_file
from directory_indexer.assistants.formats import FORMATS
from directory_indexer.assistants.record import Edit, digest


class Draft(NamedTuple):
    """A file as it was read, and its planned text; `None` stands for no file."""

    file: ConfigFile
    text: str | None

    @property
    def is_changed(self) -> bool:
        """Whether there is something to write."""
        return self.text != (self.file.text if self.file.exists else None)


class Drafts:
    """All files of a plan by resolved path."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed
        self._drafts: dict[str, Draft] = {}

    def draft_of(self, path: str) -> Draft:
        """Return the draft of a file, which is read on first use.

        Raises:
            EditRefusedError: it is no file to write to.
        """
        target = os.path.realpath(path)
        if target not in self._drafts:
            file = read_file(path, self._allowed)
            self._drafts[target] = Draft(file, file.text if file.exists else None)
        return self._drafts[target]

    def plan(self, draft: Draft, text: str | None) -> None:
        """Set the planned text of a file."""
        self._drafts[draft.file.target] = draft._replace(text=text)

    def changed(self) -> list[Draft]:
        """Return the files to be written, in the order of first use."""
        return [draft for draft in self._drafts.values() if draft.is_changed]

    def kept(self) -> dict[str, Draft]:
        """Return a copy of the current plan, for `go_back`."""
        return dict(self._drafts)

    def go_back(self, kept: dict[str, Draft]) -> None:
        """Restore an earlier plan."""
        self._drafts = kept


def splice(before: str, after: str) -> tuple[int, str, str]:
    """Return the difference of two texts as one replacement: offset, removed and inserted text."""
    start = _n_common(before, after)
    rest = min(len(before), len(after)) - start
    end = min(rest, _n_common(before[::-1], after[::-1]))
    return start, before[start : len(before) - end], after[start : len(after) - end]


def undone(text: str, edit: Edit) -> str:
    """Undo an edit: exactly if the file is unchanged since, else by removing its entry only.

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


def _n_common(text: str, other: str) -> int:
    """Return the length of the common prefix; comparing slices is many times as fast as comparing characters."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[low:middle] == other[low:middle] else (low, middle - 1)
    return low
