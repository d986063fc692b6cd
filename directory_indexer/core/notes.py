"""Remarks for people: notes on an answer, on what it lacks and how far to trust it, and findings of a check."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Verdict(StrEnum):
    """The outcome of a check of the doctor."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    REPAIRED = "repaired"


class Finding(NamedTuple):
    """The result of one check: its outcome, and what to do about it."""

    check: str
    verdict: Verdict
    message: str
    hint: str = ""


class NoteKind(StrEnum):
    """Subject of a note."""

    ANSWER = "answer"
    """The query and its hits."""

    CORRECTION = "correction"
    WEAKER = "weaker"
    """Hits that were dropped because they are much weaker than the best."""

    CHANGES = "changes"
    """Files that changed and are not in the index yet, until a run reads them."""

    ARRIVING = "arriving"
    """Files that changed and will be indexed without a command."""

    MISSING = "missing"
    """Files and pages that the index holds no text of."""

    UNFINISHED = "unfinished"
    """Directories whose first run has not ended."""

    EMBEDDING = "embedding"
    """Passages without a vector yet."""

    ELSEWHERE = "elsewhere"
    """Directories that were searched although the working directory is not indexed."""


class Note(NamedTuple):
    """A remark on an answer, and the command that shows details or changes it.

    Notes with the same meaning have the same `key`, even if their counts differ between queries.
    """

    text: str
    kind: NoteKind = NoteKind.ANSWER
    command: str = ""
    key: str = ""

    @property
    def is_standing(self) -> bool:
        """Whether it applies to every query until the index changes."""
        return self.kind in _STANDING_KINDS

    @property
    def identity(self) -> str:
        """The key shared by notes with the same meaning."""
        return self.key or str(self)

    def __str__(self) -> str:
        return f"{self.text}; {self.command}" if self.command else self.text


def format_waiting(n_passages: int, *, are_covered: bool) -> str:
    """Format the state of passages that wait for the model; `are_covered`: static vectors find them meanwhile."""
    state = "searchable by meaning only approximately so far" if are_covered else "not searchable by meaning yet"
    return f"{'is' if n_passages == 1 else 'are'} {state}"


def prefix_note(note: Note, prefix: str) -> Note:
    """Return a note with a prefix."""
    return note._replace(text=f"{prefix}: {note.text}", key=note.key and f"{prefix}: {note.key}")


_STANDING_KINDS: Final = frozenset(
    {NoteKind.ARRIVING, NoteKind.MISSING, NoteKind.UNFINISHED, NoteKind.EMBEDDING, NoteKind.ELSEWHERE}
)
