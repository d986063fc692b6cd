"""Plans of `dirindex install` as lines: one line per part, and the changes of files as a diff.

Secrets near a change are masked.
"""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterable, Iterator

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import file_path
from directory_indexer.text.formatting import Line, PathStyle, Span, Style, line

with lazily:
    from directory_indexer.integrations.assistants.planning import Draft, Failure, Plan, splice
    from directory_indexer.secrets.redaction import secret_spans
    from directory_indexer.secrets.rule_engine import mask_spans

_CONTEXT_LINES = 2
_MASKED_LINES = 20
"""Lines around a change that are scanned for secrets, whose names may be lines above them."""

_HEADER_LINES = 2
_MAX_CHARACTERS = 400
_STYLES = {"+": Style.GOOD, "-": Style.WARNING, "…": Style.NOTE}


def step_lines(plan: Plan, *, paths: PathStyle) -> Iterator[Line]:
    """Yield what is done about each part of each assistant; assistants that share a file share a line."""
    grouped = itertools.groupby(plan.steps, lambda step: step._replace(client=""))
    steps = [(", ".join(step.client for step in sharing), first) for first, sharing in grouped]
    clients = max((len(names) for names, _ in steps), default=0)
    actions = max((len(step.action) for _, step in steps), default=0)
    for names, step in steps:
        style = Style.PLAIN if step.action.is_done else Style.PROBLEM
        action = Span(f"{step.action:{actions}}  ", style)
        path = Span(paths.format(file_path(step.path)), Style.PATH)
        yield line(f"{names:{clients}}  {step.part:5}  ", action, path, f": {step.reason}" if step.reason else "")


def change_lines(plan: Plan, *, paths: PathStyle) -> Iterator[Line]:
    """Yield the changed lines of each file."""
    for draft in plan.drafts:
        yield line()
        yield line(Span(f"{_change_verb(draft)} {paths.format(file_path(draft.file.target))}", Style.PATH))
        for text in _diff(draft):
            yield line(Span(_truncate_line(text), _STYLES.get(text[:1], Style.PLAIN)))


def failure_lines(failures: Iterable[Failure]) -> Iterator[Line]:
    """Yield a line for each file that could not be changed."""
    for failure in failures:
        yield line(Span(f"{failure.path}: {failure.reason}", Style.PROBLEM))


def _change_verb(draft: Draft) -> str:
    if draft.text is None:
        return "remove"
    return "change" if draft.file.exists else "make"


def _diff(draft: Draft) -> Iterator[str]:
    """Yield a diff of the lines around the change; the rest of the file may be megabytes."""
    before, after = draft.file.text, draft.text or ""
    offset, removed, inserted = splice(before, after)
    start = _lines_before(before, offset)
    old = before[start : _lines_after(before, offset + len(removed))]
    new = after[start : _lines_after(after, offset + len(inserted))]
    path = draft.file.target
    lines = difflib.unified_diff(_masked_lines(old, path), _masked_lines(new, path), n=_CONTEXT_LINES, lineterm="")
    for number, text in enumerate(lines):
        if number > _HEADER_LINES or (number == _HEADER_LINES and not text.startswith("@@")):
            yield "…" if text.startswith("@@") else text


def _lines_before(text: str, offset: int) -> int:
    for _ in range(_MASKED_LINES):
        offset = max(text.rfind("\n", 0, offset), 0)
    return offset and offset + 1


def _lines_after(text: str, offset: int) -> int:
    for _ in range(_MASKED_LINES):
        offset = text.find("\n", offset) + 1 or len(text)
    return offset


def _truncate_line(text: str) -> str:
    """Truncate a line: some assistants write their whole state into one."""
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _masked_lines(text: str, path: str) -> list[str]:
    kind = os.path.splitext(path)[1].removeprefix(".")
    return mask_spans(text, secret_spans(text, kind)).splitlines()
