"""Line ends of a text, to be used for insertions."""

from __future__ import annotations


def line_end_of(text: str) -> str:
    """Return the line end of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def gap_after(text: str) -> str:
    """Return the separator that makes a blank line between a text and an appendix."""
    line_end = line_end_of(text)
    if not text or text.endswith(line_end * 2):
        return ""
    return line_end if text.endswith("\n") else line_end * 2
