"""Structured text: JSON, YAML, TOML, INI and CSV, with keys and column names as headings.

Keys are found line by line, without parsing: line numbers stay exact, comments and broken files do no harm, and nothing
in a hostile file is expanded, nested or built.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.extractors.document import Document, Section
from directory_indexer.extractors.escapes import unescaped
from directory_indexer.extractors.outline import Heading, one_line, sections_of


def extract_json(text: str, kind: str) -> Document:
    """Return a formatted JSON text with its keys as headings, two levels deep."""
    text = unescaped(text, kind)
    if not _OBJECT.match(text):
        return Document(text, kind)
    return Document(text, kind, sections=_key_sections(_keys(text, _JSON_KEY)))


def extract_yaml(text: str, kind: str) -> Document:
    """Return a YAML text with its keys as headings, two levels deep."""
    text = unescaped(text, kind)
    return Document(text, kind, sections=_key_sections(_keys(text, _YAML_KEY)))


def extract_tables(text: str, kind: str) -> Document:
    """Return a TOML or INI text with the names of its tables as headings."""
    text = unescaped(text, kind) if kind == "toml" else text
    headings = (Heading(match.start(), 1, one_line(match[1])) for match in _TABLE.finditer(text))
    return Document(text, kind, sections=sections_of(headings))


def extract_rows(text: str, kind: str) -> Document:
    """Return a CSV or TSV text with the names of its columns as heading, if the first line has names."""
    end = text.find("\n", 0, _MAX_HEADER) + 1
    columns = [column.strip(" \"'") for column in _DELIMITER.split(text[: max(end - 1, 0)])]
    if len(columns) == 1 or not all(map(_is_name, columns)):
        return Document(text, kind)
    return Document(text, kind, sections=(Section(0), Section(end, (one_line(", ".join(columns)),))))


class _Key(NamedTuple):
    start: int
    indent: int
    name: str
    has_parts: bool


def _keys(text: str, pattern: re.Pattern[str]) -> Iterator[_Key]:
    for match in pattern.finditer(text):
        name = one_line(match["quoted"] or match["bare"])
        yield _Key(match.start(), len(match["indent"]), name, match["opening"] is not None)


def _key_sections(keys: Iterable[_Key]) -> tuple[Section, ...]:
    """Return a section for each key of the first two levels with parts; a plain value belongs to the key around it."""
    sections = [Section(0)]
    outer: _Key | None = None
    inner_indent = 0
    for key in keys:
        if outer is None or key.indent <= outer.indent:
            outer, inner_indent = key, 0
            path: tuple[str, ...] = (key.name,) if key.has_parts else ()
        elif outer.has_parts and key.indent <= (inner_indent or key.indent):
            inner_indent = key.indent
            path = (outer.name, key.name) if key.has_parts else (outer.name,)
        else:
            continue
        if path != sections[-1].headings:
            sections.append(Section(key.start, path))
    return tuple(sections[1:] if len(sections) > 1 and sections[1].start == 0 else sections)


def _is_name(column: str) -> bool:
    return bool(column) and not _NUMBER.fullmatch(column)


_MAX_HEADER: Final = 2_000
# What is indented further lies below the second level: eight columns are two steps of four.
_OBJECT: Final = re.compile(r"\s*+(?:(?:/[/*]|#)|\{)")
_JSON_KEY: Final = re.compile(
    r"^(?P<indent>[ \t]{0,8}+)(?:\"(?P<quoted>(?:[^\"\\\n]|\\.){1,200})\"|(?P<bare>[A-Za-z_$][\w$]{0,200}))"
    r"[ \t]*:[ \t]*(?P<opening>(?:[\[{][ \t]*)?$)?",
    re.MULTILINE,
)
_YAML_KEY: Final = re.compile(
    r"^(?P<indent>[ ]{0,8}+)(?:[\"'](?P<quoted>[^\"'\n]{1,200})[\"']|(?P<bare>[^\s#\"'{\[:&*!|>%@`-][^:#\n]{0,200}?))"
    r"[ \t]*:(?=[ \t\n]|\Z)(?P<opening>[ \t]*(?:[&!]\S+[ \t]*)?(?:#[^\n]*)?$)?",
    re.MULTILINE,
)
_TABLE: Final = re.compile(r"^\[{1,2}([^\[\]\n]{1,200}+)\]{1,2}[ \t]*+(?:[#;][^\n]*)?$", re.MULTILINE)
_DELIMITER: Final = re.compile(r"[,;\t|]")
_NUMBER: Final = re.compile(r"[-+]?[\d.,:/ %-]+")
