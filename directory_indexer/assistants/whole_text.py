"""Files that hold one thing, which is ours or somebody else's as a whole."""

from __future__ import annotations

from directory_indexer.assistants.entries import EditRefusedError, Keys, Standing


def standing(text: str, keys: Keys, value: object) -> Standing:
    """Return whether a file holds what it is to hold."""
    del keys
    if not text:
        return Standing.ABSENT
    return Standing.SAME if text == value else Standing.OTHER


def reads_as(text: str) -> object:
    """Return a text as it is."""
    return text


def is_empty(text: str) -> bool:
    """Return whether a text is blank."""
    return not text.strip()


def with_entry(text: str, keys: Keys, value: object) -> str:
    """Return what the file is to hold.

    Raises:
        EditRefusedError: it is not empty.
    """
    del keys
    if text:
        raise EditRefusedError("the file is not empty")
    return str(value)


def without_entry(text: str, keys: Keys, value: object, *, made: int) -> str:
    """Leave nothing of a file.

    Raises:
        EditRefusedError: it was changed.
    """
    del keys, made
    if text != value:
        raise EditRefusedError("it has been changed since it was written")
    return ""
