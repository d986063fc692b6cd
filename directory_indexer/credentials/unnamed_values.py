"""Values that are random beyond doubt, after any name: `erlangCookie: …`, `claim = "…"`.

Some names indicate random values that are no secrets: an id, a digest, a picture. A name with many different values in
one text is an identifier.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from directory_indexer.credentials.key_uses import is_key_in_code
from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming, is_open, is_vague
from directory_indexer.credentials.randomness import is_random
from directory_indexer.credentials.settings import PROSE_KINDS, SETTINGS_KINDS
from directory_indexer.credentials.spans import SecretSpan, line_start

_UNREAD_KINDS: Final = frozenset("bibtex css csv diff log sql subtitles svg tsv xls xlsb xlsx ods numbers".split())
"""Kinds of files that consist of random values: rows of data, records of events."""


def unnamed_spans(text: str, kind: str) -> Iterator[SecretSpan]:
    """Yield random values that follow a name."""
    if kind in _UNREAD_KINDS:
        return
    values: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for candidate in _candidates(text, kind):
        name = _name_of(text, candidate, kind)
        if name and not is_open(name) and is_random(candidate[1]):
            values[name][candidate[1]].append(candidate.start(1))
        elif is_vague(name) and kind not in PROSE_KINDS and is_key_in_code(text, candidate) and is_random(candidate[1]):
            yield SecretSpan(*candidate.span(1), Naming.TOKEN.value)
    for places in values.values():
        if len(places) <= _MAX_VALUES:
            yield from (
                SecretSpan(at, at + len(value), Naming.TOKEN.value) for value, starts in places.items() for at in starts
            )


def _candidates(text: str, kind: str) -> Iterator[re.Match[str]]:
    yield from _DOUBLE_QUOTED.finditer(text)
    if kind not in _CHARACTER_KINDS:
        yield from _SINGLE_QUOTED.finditer(text)
    if not kind or kind in PROSE_KINDS or kind in _BARE_KINDS:
        yield from _bare(text)


def _bare(text: str) -> Iterator[re.Match[str]]:
    """Yield values without quotes. The search starts at a digit before a letter, which is rarer than a blank."""
    end = 0
    for digit in _DIGIT_BEFORE_LETTER.finditer(text):
        at = digit.start()
        if at < end:
            continue
        lowest = max(at - _MAX_VALUE - 1, end)
        start = lowest + len(text[lowest:at].rstrip(_CHARACTERS))
        match = _BARE.match(text, start - 1) if start > lowest else None
        end = match.end() if match else digit.end()
        if match:
            yield match


def _name_of(text: str, match: re.Match[str], kind: str) -> str:
    """Return the name before a value, on its line or the one above."""
    start = line_start(text, match.start(1), _MAX_LINE_BEFORE)
    before = text[start : match.start(1)]
    name = _NAME.search(before) or _ELEMENT.search(before)
    if name is None and (not kind or kind in PROSE_KINDS or kind in SETTINGS_KINDS):
        name = _DIRECTIVE_NAME.fullmatch(before)
    if name is None and kind in PROSE_KINDS and not before.strip():
        name = _HEADING.search(text, max(start - _MAX_LINE_BEFORE, 0), start)
    return name[1] if name else ""


_BARE_KINDS: Final = frozenset((*SETTINGS_KINDS, *"bash batch dockerfile fish make powershell".split())) - frozenset(
    "hcl json jsonl toml".split()
)
"""Kinds of files, besides prose, in which values need no quotes."""
_CHARACTER_KINDS: Final = frozenset("c cpp csharp go java json jsonl kotlin rust scala swift zig".split())
"""Kinds of files in which single quotes enclose a character at most."""
_MAX_VALUES: Final = 3
_MAX_LINE_BEFORE: Final = 100
_MAX_VALUE: Final = 128
_CHARACTERS: Final = f"{string.ascii_letters}{string.digits}_+/~-"
_DIGIT_BEFORE_LETTER: Final = LazyPattern(r"[0-9][A-Za-z+/]")
_UNNAMED_VALUE: Final = (
    r"(?=(?:[A-Za-z_+/~-]{0,127}+\d++[_~-]){0,4}+[A-Za-z_+/~-]{0,127}+\d++[A-Za-z+/])(?![\da-f-]{16,128}+\b)"
    r"([A-Za-z\d_+/~-]{16,128}+={0,2})"
)
"""A value with a digit before a letter; digests are excluded at once."""
_DOUBLE_QUOTED: Final = LazyPattern(rf'"{_UNNAMED_VALUE}"', re.ASCII)
_SINGLE_QUOTED: Final = LazyPattern(rf"'{_UNNAMED_VALUE}'", re.ASCII)
_BARE: Final = LazyPattern(rf"[\s=:>`]{_UNNAMED_VALUE}(?=[\s,;`]|</|\Z)", re.ASCII)
_NAME: Final = LazyPattern(
    r"(?<![\w$.-])-{0,2}([\w$.-][\w $.-]{1,60}+)[\"'`\])*]{0,4}(?:: ?[\w.<>\[\]?*&| ]{1,30}(?= ?=))?[ \t]{0,8}"
    r"(?:(?<![=!<>~+*])=|:(?=[ \t\"'`])|=>|:=)[ \t]{0,8}(?:[A-Za-z@]{1,2}|[\w.]{1,40}\(|\*\*)?[\"'`]?\Z"
)
_ELEMENT: Final = LazyPattern(r"<(?:string name=\"|add key=\")?([\w:.-]{2,60})(?:[ ][^<>]{0,60})?>\Z")
_DIRECTIVE_NAME: Final = LazyPattern(
    r"[ \t]{0,20}(?:(?:set|export|add|proxy_set_header|request_header|more_set_headers|option|config)[ \t]{1,4})?"
    r"([\w.-]{3,40})[ \t]{1,20}[\"'`]?"
)
_HEADING: Final = LazyPattern(r"(?:\A|\n)[ \t]{0,8}([^\W\d_][\w -]{1,40}):[ \t\r]{0,4}\n\Z")
