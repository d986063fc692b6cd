"""Notes on an answer: how far to trust it, and what is missing from it."""

from enum import StrEnum
from typing import Final, NamedTuple


class NoteKind(StrEnum):
    """Subject of a note."""

    ANSWER = "answer"
    """The question and what was found."""

    CORRECTION = "correction"
    WEAKER = "weaker"
    """Hits that were left out, since they are much weaker than the best."""

    CHANGES = "changes"
    """Files that changed and are not in the index yet, until a run reads them."""

    ARRIVING = "arriving"
    """Files that changed and come in by themselves."""

    MISSING = "missing"
    """Files and pages that the index holds no text of."""

    UNFINISHED = "unfinished"
    """Directories whose first run has not ended."""

    EMBEDDING = "embedding"
    """Passages that wait for a vector."""

    ELSEWHERE = "elsewhere"
    """Directories that an answer comes from while the working directory is not indexed."""


class Note(NamedTuple):
    """A remark on an answer, and the command that tells more or changes it.

    Those that mean the same have the same `key`, even if they count differently for each question.
    """

    text: str
    kind: NoteKind = NoteKind.ANSWER
    command: str = ""
    key: str = ""

    @property
    def is_standing(self) -> bool:
        """Whether it holds for every question until the index changes."""
        return self.kind in _STANDING

    @property
    def identity(self) -> str:
        """Key that notes share which mean the same."""
        return self.key or str(self)

    def __str__(self) -> str:
        return f"{self.text}; {self.command}" if self.command else self.text


def prefixed(note: Note, prefix: str) -> Note:
    """Return a note with a prefix."""
    return note._replace(text=f"{prefix}: {note.text}", key=note.key and f"{prefix}: {note.key}")


_STANDING: Final = frozenset({NoteKind.MISSING, NoteKind.UNFINISHED, NoteKind.EMBEDDING, NoteKind.ELSEWHERE})
