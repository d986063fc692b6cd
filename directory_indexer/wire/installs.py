"""Records of installations into assistants."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.assistants.applying import Failure
    from directory_indexer.assistants.steps import Plan, Step


class PartEntry(NamedTuple):
    """A part of an assistant."""

    client: Annotated[str, "The assistant, as `install` names it."]
    part: Annotated[str, "mcp, skill, hooks or rules."]
    path: Annotated[str, "The file that it is in."]
    action: Annotated[str, "add, update, already there, taken, refused, failed, remove, gone already or kept."]
    reason: Annotated[str | None, "Why, where that is not obvious."]


class InstallAnswer(NamedTuple):
    """The outcome of an installation or removal."""

    dry_run: Annotated[bool, "Whether nothing was written."]
    parts: Annotated[tuple[PartEntry, ...], "Each part of each assistant."]
    files: Annotated[tuple[str, ...], "Files that were written or removed, or would be."]


def install_answer(plan: Plan, failures: Sequence[Failure], *, is_dry_run: bool) -> InstallAnswer:
    """Return the record of an installation or removal."""
    failed = {failure.path: failure.reason for failure in failures}
    files = [draft.file.target for draft in plan.drafts if draft.file.target not in failed]
    return InstallAnswer(is_dry_run, tuple(_part_entry(step, failed) for step in plan.steps), tuple(files))


def _part_entry(step: Step, failed: dict[str, str]) -> PartEntry:
    if reason := failed.get(os.path.realpath(step.path)):
        return PartEntry(step.client, step.part, step.path, "failed", reason)
    return PartEntry(step.client, step.part, step.path, step.action, step.reason or None)
