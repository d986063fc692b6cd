"""The line ends of a text, so that what is put into it has the same."""

from __future__ import annotations


def line_end_of(text: str) -> str:
    """Return the line end that a text is written with."""
    return "\r\n" if "\r\n" in text else "\n"


def gap_after(text: str) -> str:
    """Return what has to follow a text so that a blank line separates it from what is appended."""
    line_end = line_end_of(text)
    if not text or text.endswith(line_end * 2):
        return ""
    return line_end if text.endswith("\n") else line_end * 2
