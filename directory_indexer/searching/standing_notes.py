"""Notes on what is missing from answers, apart from `answers` so that `grep` loads no module of ranking."""

from typing import Self


class StandingNote(str):
    """A note on what is missing that holds for every question until the index changes.

    It is a string like other notes; its type marks it where it is shown only once. Notes that mean the same have the
    same `key`, even if they count differently for each question.
    """

    __slots__ = ("key",)
    key: str

    def __new__(cls, text: str, key: str = "") -> Self:
        """Return a note; without a key, its text is the key."""
        note = super().__new__(cls, text)
        note.key = key or text
        return note


def prefixed(note: str, prefix: str) -> str:
    """Return a note with a prefix, as a standing one if it was one."""
    text = f"{prefix}: {note}"
    return StandingNote(text, f"{prefix}: {note.key}") if isinstance(note, StandingNote) else text
