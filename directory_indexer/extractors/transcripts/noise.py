"""Removal of noise from a turn: context that programs add, pictures in Base64, dumps of files."""

from __future__ import annotations

import re
from typing import Final


def plain(text: str) -> str:
    """Return the message in a turn, with only the beginning and the end of a very long one."""
    if len(text) > _MAX_READ:
        text = text[:_MAX_READ]
    text = _storable(text)
    for tag in _ADDED_TAGS:
        text = _without(text, f"<{tag}", f"</{tag}>")
    if len(text) > _LONG:
        text = _BLOB.sub("[…]", text)
    text = text.strip()
    return text if len(text) <= _MAX_TURN else f"{text[:_KEPT_CHARACTERS]}\n\n[…]\n\n{text[-_KEPT_CHARACTERS:]}"


def shortened(line: str, max_characters: int) -> str:
    """Cut a line to at most `most` characters, at the end of a word if possible."""
    if len(line) <= max_characters:
        return line
    cut = line[: max_characters - 1]
    return f"{cut[: cut.rfind(' ', max_characters // 2)] if ' ' in cut[max_characters // 2 :] else cut}…"


def _without(text: str, begin: str, end: str) -> str:
    """Remove every span between two marks; a mark without its end is part of the text."""
    pieces, position = [], 0
    while (start := text.find(begin, position)) >= 0 and (close := text.find(end, start)) >= 0:
        pieces.append(text[position:start])
        position = close + len(end)
    return "".join([*pieces, text[position:]])


def _storable(text: str) -> str:
    # JSON can spell halves of surrogate pairs, which no store takes, and the line ends of any system.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROLS.sub(" ", _LINE_END.sub("\n", _ESCAPE.sub("", text)))


_MAX_READ: Final = 1_000_000
_MAX_TURN: Final = 40_000
_KEPT_CHARACTERS: Final = 16_000
_LONG: Final = 300
_BLOB: Final = re.compile(r"(?:data:[\w/+.;=-]{1,80},)?(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{256,}+={0,2}")
_ADDED_TAGS: Final = (
    "system-reminder local-command-stdout local-command-stderr local-command-caveat bash-stdout bash-stderr "
    "command-name command-message user_instructions environment_context session_context ide_opened_file "
    "ide_selection INSTRUCTIONS turn_aborted subagent_notification task-notification persisted-output"
).split()
_ESCAPE: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_LINE_END: Final = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_CONTROLS: Final = re.compile("[\0-\x08\x0e-\x1f\x7f]")
