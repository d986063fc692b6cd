"""What is done about each part of each assistant, and what becomes of the files; records that plans consist of."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from directory_indexer.assistants.clients import Part
from directory_indexer.assistants.drafts import Draft
from directory_indexer.assistants.record import Record


class Action(StrEnum):
    """What is done about a part."""

    ADD = "add"
    UPDATE = "update"
    SAME = "already there"
    TAKEN = "taken"
    """Something else stands in its place, which nobody but its owner should remove."""

    REFUSED = "refused"
    """A file is not what it should be; nothing is changed for this client."""

    REMOVE = "remove"
    GONE = "gone already"
    KEPT = "kept"
    """Other clients use it."""

    @property
    def is_done(self) -> bool:
        """Return whether all is as it was asked for."""
        return self not in {Action.TAKEN, Action.REFUSED}


class Step(NamedTuple):
    """What is done about a part of a client, in which file, and why if that is not plain."""

    client: str
    part: Part
    path: str
    action: Action
    reason: str = ""


class Plan(NamedTuple):
    """All steps, the files as they will be, and what is recorded before and after."""

    steps: tuple[Step, ...]
    drafts: tuple[Draft, ...]
    before: Record
    after: Record
