"""Plans of additions to the files of assistants and of removals from them, and their execution.

A plan has the action for each part of each assistant, and the resulting files. Each file is written atomically, and the
record first, so an interruption at any point can be undone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.core.errors import ConflictError, StoreError
from directory_indexer.core.lock import write_lock
from directory_indexer.integrations.assistants import EditRefusedError, EntryState, missing_containers
from directory_indexer.integrations.assistants.client_table import CLIENTS
from directory_indexer.integrations.assistants.clients import (
    SERVER_NAME,
    Client,
    Launch,
    Part,
    System,
    Target,
    allowed_directories,
    resolve_place,
)
from directory_indexer.integrations.assistants.config_files import (
    ConfigFile,
    Edit,
    Record,
    digest,
    missing_directories,
    read_file,
    read_record,
    remove_file,
    write_file,
    write_record,
)
from directory_indexer.integrations.assistants.formats import FORMATS
from directory_indexer.integrations.assistants.json_text import JSON

_LOCK: Final = "assistants.lock"


def installed_clients(clients: Iterable[Client], system: System) -> list[Client]:
    """Return the clients that are installed on this system."""
    return [client for client in clients if any(os.path.exists(resolve_place(mark, system)) for mark in client.marks)]


def has_plugin(system: System) -> bool:
    """Whether Claude Code has dirindex as a plugin, which includes the same server, skill and hook."""
    settings = CLIENTS["claude-code"].parts[Part.HOOKS].places[0]
    try:
        tree = JSON.parsed(read_file(resolve_place(settings, system), allowed_directories(system)).text)
        enabled = tree.get("enabledPlugins")
    except (EditRefusedError, AttributeError):
        return False
    names = enabled.items() if isinstance(enabled, dict) else ()
    return any(name.partition("@")[0] == SERVER_NAME and is_on is True for name, is_on in names)


class Installation:
    """Adds parts of clients to drafts of files."""

    def __init__(self, system: System, launch: Launch, record: Record) -> None:
        self._system = system
        self._launch = launch
        self._before = self._record = record
        self._drafts = Drafts(allowed_directories(system))

    def plan(self, parts_by_client: Iterable[tuple[Client, Sequence[Part]]]) -> Plan:
        """Plan the parts of each client: all of them, or none if a file is not as expected."""
        steps = [step for client, parts in parts_by_client for step in self._steps(client, parts)]
        return Plan(tuple(steps), tuple(self._drafts.changed()), self._before, self._record)

    def _steps(self, client: Client, parts: Sequence[Part]) -> list[Step]:
        kept = self._drafts.snapshot(), self._record
        steps: list[Step] = []
        for part in parts:
            path = self._path_of(client.parts[part])
            try:
                steps.append(self._step(client, part, path))
            except EditRefusedError as error:
                self._drafts.restore(kept[0])
                self._record = kept[1]
                return [Step(client.name, part, path, Action.REFUSED, error.message)]
        return steps

    def _path_of(self, target: Target) -> str:
        paths = [resolve_place(place, self._system) for place in target.places]
        return next((path for path in paths if os.path.lexists(path)), paths[0])

    def _step(self, client: Client, part: Part, path: str) -> Step:
        target = client.parts[part]
        draft = self._drafts.draft_of(path)
        value = target.value(self._launch)
        form = FORMATS[target.format]
        step = Step(client.name, part, path, Action.ADD)
        edit = self._record.edit_at((draft.file.target, (*target.keys, part)))
        text = draft.text or ""
        if edit and form.state(text, edit.keys, edit.value) is not EntryState.ABSENT:
            if edit.value == value:
                self._share(edit, client)
                return step._replace(action=Action.SAME)
            text = undo_edit(text, edit)
            step = step._replace(action=Action.UPDATE)
        state = form.state(text, target.keys, value)
        if state is EntryState.SAME:
            return step._replace(action=Action.SAME, reason="not written by this command")
        if state is EntryState.OTHER:
            return step._replace(action=Action.TAKEN, reason=_conflict_reason(target))
        clients = tuple(dict.fromkeys([*(edit.clients if edit else ()), client.name]))
        self._add(draft, text, target, Edit(draft.file.target, target.format, tuple(target.keys), value, part, clients))
        return step

    def _share(self, edit: Edit, client: Client) -> None:
        if client.name not in edit.clients:
            self._record = self._record.with_clients(edit, (*edit.clients, client.name))

    def _add(self, draft: Draft, text: str, target: Target, edit: Edit) -> None:
        form = FORMATS[target.format]
        after = form.with_entry(text or target.seed, target.keys, edit.value)
        offset, removed, inserted = splice(text, after)
        made = missing_containers(form.parsed(text or target.seed), target.keys)
        edit = edit._replace(made=made, offset=offset, removed=removed, inserted=inserted, after=digest(after))
        self._record = self._record.with_edit(edit)
        if not draft.file.exists and edit.path not in self._record.made_files:
            self._record = self._record.with_made_file(edit.path, missing_directories(draft.file))
        self._drafts.plan(draft, after)


class Removal:
    """Removes recorded edits from drafts of files."""

    def __init__(self, system: System, record: Record) -> None:
        self._before = self._record = record
        self._drafts = Drafts(allowed_directories(system))

    def plan(self, clients: Sequence[str], parts: Sequence[Part]) -> Plan:
        """Plan the removal of parts of clients, newest first; no clients and no parts stand for all."""
        steps = []
        for edit in reversed(self._record.edits):
            leaving = [name for name in edit.clients if not clients or name in clients]
            if leaving and (not parts or edit.part in parts):
                steps += self._steps(edit, leaving)
        return Plan(tuple(steps), tuple(self._drafts.changed()), self._before, self._record)

    def _steps(self, edit: Edit, leaving: Sequence[str]) -> list[Step]:
        staying = tuple(name for name in edit.clients if name not in leaving)
        if staying:
            self._record = self._record.with_clients(edit, staying)
            action, reason = Action.KEPT, f"for {', '.join(staying)}"
        else:
            action, reason = self._remove(edit)
        return [Step(name, Part(edit.part), edit.path, action, reason) for name in leaving]

    def _remove(self, edit: Edit) -> tuple[Action, str]:
        try:
            draft = self._drafts.draft_of(edit.path)
            form = FORMATS[edit.format]
            text = draft.text or ""
            is_present = form.state(text, edit.keys, edit.value) is not EntryState.ABSENT
            remaining = undo_edit(text, edit) if is_present else text
            self._record = self._record.without_edit(edit)
            is_ours = edit.path in self._before.made_files and edit.path not in self._record.made_files
            self._drafts.plan(
                draft, None if draft.text is None or (is_ours and form.is_empty(remaining)) else remaining
            )
        except EditRefusedError as error:
            return Action.REFUSED, error.message
        return (Action.REMOVE, "") if is_present else (Action.GONE, "")


class Failure(NamedTuple):
    """A file that could not be changed, and why."""

    path: str
    reason: str


@contextlib.contextmanager
def lock_record(data_dir: Path, plan: Plan) -> Iterator[None]:
    """Hold the lock on changes to assistants' files.

    Raises:
        LockedError: another process does so.
        ConflictError: another process did so since the plan was made.
        StoreError: the data directory cannot be used.
    """
    try:
        os.makedirs(data_dir, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"'{data_dir}' cannot be made: {error.strerror}") from error
    with write_lock(data_dir / _LOCK, wait=False):
        if read_record(data_dir) != plan.before:
            raise ConflictError("another process has just changed assistants' files", hint="try again")
        yield


def apply_installation(plan: Plan, data_dir: Path) -> list[Failure]:
    """Record the edits, then make them; edits of files that cannot be written are removed from the record.

    Raises:
        StoreError: the record cannot be written; then nothing else is.
    """
    if plan.after == plan.before and not plan.drafts:
        return []
    write_record(data_dir, plan.after)
    failures = list(_write_all(plan))
    if failures:
        record = plan.after
        for failure in failures:
            record = record.with_file_of(plan.before, failure.path)
        write_record(data_dir, record)
    return failures


def apply_removal(plan: Plan, data_dir: Path) -> list[Failure]:
    """Undo the edits, then remove them from the record; those of files that cannot be written stay on it.

    Raises:
        StoreError: the record cannot be written; removing again is harmless.
    """
    failures = list(_write_all(plan))
    record = plan.after
    for failure in failures:
        record = record.with_file_of(plan.before, failure.path)
    if record != plan.before:
        write_record(data_dir, record)
    return failures


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

    def snapshot(self) -> dict[str, Draft]:
        """Return a copy of the current plan, for `restore`."""
        return dict(self._drafts)

    def restore(self, snapshot: dict[str, Draft]) -> None:
        """Restore an earlier plan."""
        self._drafts = snapshot


def splice(before: str, after: str) -> tuple[int, str, str]:
    """Return the difference of two texts as one replacement: offset, removed and inserted text."""
    start = _common_prefix_length(before, after)
    rest = min(len(before), len(after)) - start
    end = min(rest, _common_prefix_length(before[::-1], after[::-1]))
    return start, before[start : len(before) - end], after[start : len(after) - end]


def undo_edit(text: str, edit: Edit) -> str:
    """Undo an edit: exactly if the file is unchanged since, else by removing its entry only.

    Raises:
        EditRefusedError: the file can no longer be read, or its only entry was changed.
    """
    if digest(text) == edit.after:
        return text[: edit.offset] + edit.removed + text[edit.offset + len(edit.inserted) :]
    form = FORMATS[edit.format]
    without = form.without_entry(text, edit.keys, edit.value, made=edit.made)
    if edit.inserted and text.count(edit.inserted) == 1:
        exact = text.replace(edit.inserted, edit.removed)
        if form.parsed(exact) == form.parsed(without):
            return exact
    return without


class Action(StrEnum):
    """The action for a part."""

    ADD = "add"
    UPDATE = "update"
    SAME = "already there"
    TAKEN = "taken"
    """Other content is in its place, which only its owner should remove."""

    REFUSED = "refused"
    """A file is not as expected; nothing is changed for this client."""

    REMOVE = "remove"
    GONE = "gone already"
    KEPT = "kept"
    """Other clients use it."""

    @property
    def is_done(self) -> bool:
        """Whether the requested state is reached."""
        return self not in {Action.TAKEN, Action.REFUSED}


class Step(NamedTuple):
    """The action for a part of a client, its file, and the reason if it is not obvious."""

    client: str
    part: Part
    path: str
    action: Action
    reason: str = ""


class Plan(NamedTuple):
    """All steps, the drafts of files, and the record before and after."""

    steps: tuple[Step, ...]
    drafts: tuple[Draft, ...]
    before: Record
    after: Record


def _conflict_reason(target: Target) -> str:
    if target.keys:
        return f"another entry '{'.'.join(target.keys)}' exists, which this command did not write; remove it first"
    return "the file has other content, which this command did not write; remove it first"


def _write_all(plan: Plan) -> Iterator[Failure]:
    for draft in plan.drafts:
        try:
            _write(draft, plan)
        except EditRefusedError as error:
            yield Failure(draft.file.target, error.message)


def _write(draft: Draft, plan: Plan) -> None:
    if draft.text is None:
        remove_file(draft.file, plan.before.made_files.get(draft.file.target, []))
    else:
        write_file(draft.file, draft.text)


def _common_prefix_length(text: str, other: str) -> int:
    """Return the length of the common prefix; comparing slices is many times as fast as comparing characters."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[low:middle] == other[low:middle] else (low, middle - 1)
    return low
