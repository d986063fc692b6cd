"""Warnings on what is missing from answers, apart from `answers` so that `grep` loads no module of ranking."""

from typing import Self


class StandingNote(str):
    """A warning on what is missing that applies to every query until the index changes.

    It is a string like other notes; its type marks it where it is shown only once. Warnings with the same meaning have
    the same `key`, even if their counts differ between queries.
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
