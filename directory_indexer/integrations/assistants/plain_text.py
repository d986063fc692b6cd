"""Entries in files of plain text: a block between two unique marks, or the whole content."""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.integrations.assistants.entries import EditRefusedError, Keys, Standing, gap_after, line_end_of

BEGIN: Final = "<!-- dirindex: begin -->"
END: Final = "<!-- dirindex: end -->"
_BLOCK = re.compile(rf"{re.escape(BEGIN)}(.*?){re.escape(END)}(?:\r?\n)?", re.DOTALL)


class Marked:
    """Blocks in Markdown between two unique marks."""

    def standing(self, text: str, keys: Keys, value: object) -> Standing:
        """Return whether a block is in a text.

        Raises:
            EditRefusedError: there are several, or one is incomplete.
        """
        del keys
        match = _only_block(text)
        if match is None:
            return Standing.ABSENT
        return Standing.SAME if match[1].replace("\r\n", "\n").strip("\n") == value else Standing.OTHER

    def reads_as(self, text: str) -> object:
        """Return the words of a text."""
        return text.split()

    def is_empty(self, text: str) -> bool:
        """Return whether a text is blank."""
        return not text.strip()

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Append a block to a text."""
        del keys
        return text + gap_after(text) + f"{BEGIN}\n{value}\n{END}\n".replace("\n", line_end_of(text))

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Remove the block from a text, and a blank line that remains at the end.

        Raises:
            EditRefusedError: there are several, or one is incomplete.
        """
        del keys, value, made
        match = _only_block(text)
        if match is None:
            raise EditRefusedError(f"'{BEGIN}' is not in it")
        before, after = text[: match.start()], text[match.end() :]
        if before.endswith(("\n\n", "\r\n\r\n")) and (not after or after.startswith(("\n", "\r\n"))):
            before = before[:-2] if before.endswith("\r\n") else before[:-1]
        return before + after


class Whole:
    """Files with a single content, which is wholly ours or someone else's."""

    def standing(self, text: str, keys: Keys, value: object) -> Standing:
        """Return whether a file has the expected content."""
        del keys
        if not text:
            return Standing.ABSENT
        return Standing.SAME if text == value else Standing.OTHER

    def reads_as(self, text: str) -> object:
        """Return a text as it is."""
        return text

    def is_empty(self, text: str) -> bool:
        """Return whether a text is blank."""
        return not text.strip()

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Return the content of the file.

        Raises:
            EditRefusedError: it is not empty.
        """
        del keys
        if text:
            raise EditRefusedError("the file is not empty")
        return str(value)

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Remove the content of the file.

        Raises:
            EditRefusedError: it was changed.
        """
        del keys, made
        if text != value:
            raise EditRefusedError("it has been changed since it was written")
        return ""


def _only_block(text: str) -> re.Match[str] | None:
    n_marks = text.count(BEGIN), text.count(END)
    if n_marks == (0, 0):
        return None
    match = _BLOCK.search(text)
    if n_marks != (1, 1) or match is None:
        raise EditRefusedError(f"'{BEGIN}' and '{END}' are not there exactly once each, in this order")
    return match
