"""Steps of a plan: the action for each part of each assistant, and the resulting files."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from directory_indexer.assistants.clients import Part
from directory_indexer.assistants.drafts import Draft
from directory_indexer.assistants.record import Record


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
