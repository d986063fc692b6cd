"""Plan of removals from the files of assistants."""

from __future__ import annotations

from collections.abc import Sequence

from directory_indexer.assistants.clients import Part
from directory_indexer.assistants.drafts import Drafts, undone
from directory_indexer.assistants.entries import EditRefusedError, Standing
from directory_indexer.assistants.formats import FORMATS
from directory_indexer.assistants.places import System, allowed_directories
from directory_indexer.assistants.record import Edit, Record
from directory_indexer.assistants.steps import Action, Plan, Step


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
                steps += self._steps_of(edit, leaving)
        return Plan(tuple(steps), tuple(self._drafts.changed()), self._before, self._record)

    def _steps_of(self, edit: Edit, leaving: Sequence[str]) -> list[Step]:
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
            is_there = form.standing(text, edit.keys, edit.value) is not Standing.ABSENT
            remaining = undone(text, edit) if is_there else text
            self._record = self._record.without_edit(edit)
            is_ours = edit.path in self._before.made_files and edit.path not in self._record.made_files
            self._drafts.plan(
                draft, None if draft.text is None or (is_ours and form.is_empty(remaining)) else remaining
            )
        except EditRefusedError as error:
            return Action.REFUSED, error.message
        return (Action.REMOVE, "") if is_there else (Action.GONE, "")
