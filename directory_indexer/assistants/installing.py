"""Plan of additions to the files of assistants."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from directory_indexer.assistants.client_table import CLIENTS
from directory_indexer.assistants.clients import Client, Part, Target
from directory_indexer.assistants.config_files import missing_directories, read_file
from directory_indexer.assistants.drafts import Draft, Drafts, splice, undone
from directory_indexer.assistants.entries import EditRefusedError, Standing, missing_containers
from directory_indexer.assistants.formats import FORMATS
from directory_indexer.assistants.json_text import JSON
from directory_indexer.assistants.launching import SERVER_NAME, Launch
from directory_indexer.assistants.places import System, allowed_directories, located
from directory_indexer.assistants.record import Edit, Record, digest
from directory_indexer.assistants.steps import Action, Plan, Step


def found_clients(clients: Iterable[Client], system: System) -> list[Client]:
    """Return the clients that are installed on this system."""
    return [client for client in clients if any(os.path.exists(located(mark, system)) for mark in client.marks)]


def has_plugin(system: System) -> bool:
    """Whether Claude Code has dirindex as a plugin, which includes the same server, skill and hook."""
    settings = CLIENTS["claude-code"].parts[Part.HOOKS].places[0]
    try:
        tree = JSON.reads_as(read_file(located(settings, system), allowed_directories(system)).text)
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
        steps = [step for client, parts in parts_by_client for step in self._steps_of(client, parts)]
        return Plan(tuple(steps), tuple(self._drafts.changed()), self._before, self._record)

    def _steps_of(self, client: Client, parts: Sequence[Part]) -> list[Step]:
        kept = self._drafts.kept(), self._record
        steps: list[Step] = []
        for part in parts:
            path = self._path_of(client.parts[part])
            try:
                steps.append(self._step(client, part, path))
            except EditRefusedError as error:
                self._drafts.go_back(kept[0])
                self._record = kept[1]
                return [Step(client.name, part, path, Action.REFUSED, error.message)]
        return steps

    def _path_of(self, target: Target) -> str:
        paths = [located(place, self._system) for place in target.places]
        return next((path for path in paths if os.path.lexists(path)), paths[0])

    def _step(self, client: Client, part: Part, path: str) -> Step:
        target = client.parts[part]
        draft = self._drafts.draft_of(path)
        value = target.value(self._launch)
        form = FORMATS[target.format]
        step = Step(client.name, part, path, Action.ADD)
        edit = self._record.edit_at((draft.file.target, (*target.keys, part)))
        text = draft.text or ""
        if edit and form.standing(text, edit.keys, edit.value) is not Standing.ABSENT:
            if edit.value == value:
                self._share(edit, client)
                return step._replace(action=Action.SAME)
            text = undone(text, edit)
            step = step._replace(action=Action.UPDATE)
        state = form.standing(text, target.keys, value)
        if state is Standing.SAME:
            return step._replace(action=Action.SAME, reason="not written by this command")
        if state is Standing.OTHER:
            return step._replace(action=Action.TAKEN, reason=_conflict_reason(target))
        clients = tuple(dict.fromkeys([*(edit.clients if edit else ()), client.name]))
        self._put(draft, text, target, Edit(draft.file.target, target.format, tuple(target.keys), value, part, clients))
        return step

    def _share(self, edit: Edit, client: Client) -> None:
        if client.name not in edit.clients:
            self._record = self._record.with_clients(edit, (*edit.clients, client.name))

    def _put(self, draft: Draft, text: str, target: Target, edit: Edit) -> None:
        form = FORMATS[target.format]
        after = form.with_entry(text or target.seed, target.keys, edit.value)
        offset, removed, inserted = splice(text, after)
        made = missing_containers(form.reads_as(text or target.seed), target.keys)
        edit = edit._replace(made=made, offset=offset, removed=removed, inserted=inserted, after=digest(after))
        self._record = self._record.with_edit(edit)
        if not draft.file.exists and edit.path not in self._record.made_files:
            self._record = self._record.with_made_file(edit.path, missing_directories(draft.file))
        self._drafts.plan(draft, after)


def _conflict_reason(target: Target) -> str:
    if target.keys:
        return f"there is another entry '{'.'.join(target.keys)}', which this command did not write; remove it first"
    return "the file has other content, which this command did not write; remove it first"
