"""Notes on what is missing in answers, apart from `answers` so that `grep` loads nothing that ranks."""

from typing import Self


class StandingNote(str):
    """A note on what is missing, which holds for one question after the other until the index changes.

    It is a text like any other note, and known by its type where it is shown only once. What says the same has the same
    `key`, whatever it counts for one question.
    """

    __slots__ = ("key",)
    key: str

    def __new__(cls, text: str, key: str = "") -> Self:
        """Make a note; without a key it is known by its text."""
        note = super().__new__(cls, text)
        note.key = key or text
        return note
