"""Files with a single content, which is wholly ours or someone else's."""

from __future__ import annotations

from directory_indexer.integrations.assistants.entries import EditRefusedError, Keys, Standing


def standing(text: str, keys: Keys, value: object) -> Standing:
    """Return whether a file has the expected content."""
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
    """Return the content of the file.

    Raises:
        EditRefusedError: it is not empty.
    """
    del keys
    if text:
        raise EditRefusedError("the file is not empty")
    return str(value)


def without_entry(text: str, keys: Keys, value: object, *, made: int) -> str:
    """Remove the content of the file.

    Raises:
        EditRefusedError: it was changed.
    """
    del keys, made
    if text != value:
        raise EditRefusedError("it has been changed since it was written")
    return ""
