"""Structured text: JSON, YAML, TOML, INI and CSV, with keys and column names as headings and decoded escapes.

Keys are found line by line, without parsing: line numbers stay exact, comments and broken files do no harm, and nothing
in a hostile file is expanded, nested or built.

Escapes of JSON, YAML, TOML, gettext, Java properties, XML and LaTeX are decoded before indexing. Each line stays a
line: the escape of a line end becomes a blank. A quotation mark, and anything else that may end a value, is decoded
only at the edge of a word, so that the masking of secrets sees where a value ends that has one in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.formats.document import Document, Heading, Section, decode_references, sections_of, single_line

_WITH_PLAIN_VALUES: Final = frozenset({"yaml", "toml"})
"""Kinds in which a backslash outside of quotes is a plain character."""

_QUOTED: Final = re.compile(
    r"(?:(?<=[:=,\[{?-] )|(?<=[\[{=,])|^[ \t]*+)"
    r"(?:\"\"\"(?:[^\"\\]++|\\[\s\S]|\"(?!\"\"))*+\"\"\"|\"(?:[^\"\\]++|\\[\s\S])*+\")",
    re.MULTILINE,
)
_OF_LATEX: Final = frozenset({"latex", "bibtex"})
_COMBINING: Final = dict(
    zip(
        "`'^\"~=.uvHcdbkr",
        "\u0300\u0301\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0323\u0331\u0328\u030a",
        strict=True,
    )
)
_LETTERS: Final = dict(
    zip(
        "ss o O l L ae AE oe OE aa AA i dj DJ dh DH th TH".split(),
        "ß ø Ø ł Ł æ Æ œ Œ å Å \u0131 đ Đ ð Ð þ Þ".split(),
        strict=True,
    )
)
_ACCENTED: Final = r"\\(?:[`'^\"~=.]|[uvHcdbkr](?![A-Za-z]))[ ]?(?:\{[ ]?\\?[A-Za-z][ ]?\}|\\[ij](?![A-Za-z])|[A-Za-z])"
_ACCENT: Final = re.compile(rf"\{{{_ACCENTED}\}}|{_ACCENTED}")
_NAMED: Final = rf"\\(?:{'|'.join(_LETTERS)})"
_LETTER: Final = re.compile(rf"\{{{_NAMED}[ ]?\}}|{_NAMED}(?![A-Za-z])(?:\{{\}}|[ \t])?")
_CAPITAL: Final = re.compile(r"(?<=[^\W\d_])\{([^\W\d_]{1,30})\}|\{([^\W\d_]{1,30})\}(?=[^\W\d_])")
_NUMBERED: Final = r"(?:\\(?:u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}))+"
_ESCAPE: Final = re.compile(rf"{_NUMBERED}|\\[nrtfb/\\\"]")
_PROPERTY_ESCAPE: Final = re.compile(rf"{_NUMBERED}|\\[nrtf\\:=#! ]")
_ENTITY: Final = re.compile(
    r"(?P<tag>&lt;/?[A-Za-z](?:[^<>&]|&(?:quot|amp|apos|#\d{1,6});){0,1000}+&gt;)"
    r"|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
)
_BLANKS: Final = dict.fromkeys((r"\n", r"\r", r"\t", r"\f", r"\b"), " ")
_CONTROL: Final = re.compile("[\0-\x1f\x7f\x85\u2028\u2029]")
_SOFT_HYPHEN: Final = "\xad"
_EDGED: Final = frozenset({r"\""})
_MARKS: Final = frozenset("\"'<>")
_BEFORE_WORDS: Final = frozenset({"", *' \t\n"({[:,>'})
_BEHIND_WORDS: Final = frozenset({"", *' \t\n")}],.:;?!<\\'})

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


def extract_escaped(text: str, kind: str) -> Document:
    """Return the text with its escapes decoded."""
    return Document(unescape(text, kind), kind)


def unescape(text: str, kind: str) -> str:
    """Return a text with the escapes of its kind decoded."""
    if kind == "xml":
        return _ENTITY.sub(_decode_entity, text) if "&" in text else text
    if "\\" not in text:
        return text
    if kind in _OF_LATEX:
        text = _LETTER.sub(_decode_letter, _ACCENT.sub(_decode_accent, text))
        return _CAPITAL.sub(r"\1\2", text) if kind == "bibtex" else text
    if kind in _WITH_PLAIN_VALUES:
        return _QUOTED.sub(lambda quoted: _ESCAPE.sub(_decode_escape, quoted[0]), text)
    return (_PROPERTY_ESCAPE if kind == "properties" else _ESCAPE).sub(_decode_escape, text)


def extract_json(text: str, kind: str) -> Document:
    """Return a formatted JSON text with its keys as headings, two levels deep."""
    text = unescape(text, kind)
    if not _OBJECT.match(text):
        return Document(text, kind)
    return Document(text, kind, sections=_key_sections(_keys(text, _JSON_KEY)))


def extract_yaml(text: str, kind: str) -> Document:
    """Return a YAML text with its keys as headings, two levels deep."""
    text = unescape(text, kind)
    return Document(text, kind, sections=_key_sections(_keys(text, _YAML_KEY)))


def extract_tables(text: str, kind: str) -> Document:
    """Return a TOML or INI text with the names of its tables as headings."""
    text = unescape(text, kind) if kind == "toml" else text
    headings = (Heading(match.start(), 1, single_line(match[1])) for match in _TABLE.finditer(text))
    return Document(text, kind, sections=sections_of(headings))


def extract_rows(text: str, kind: str) -> Document:
    """Return a CSV or TSV text with the names of its columns as heading, if the first line has names."""
    end = text.find("\n", 0, _MAX_HEADER) + 1
    columns = [column.strip(" \"'") for column in _DELIMITER.split(text[: max(end - 1, 0)])]
    if len(columns) == 1 or not all(map(_is_name, columns)):
        return Document(text, kind)
    return Document(text, kind, sections=(Section(0), Section(end, (single_line(", ".join(columns)),))))


def _decode_escape(escape: re.Match[str]) -> str:
    source = escape[0]
    if source[1] in "uUx":
        return _decode_numeric(source)
    if source in _EDGED and _is_within_word(escape):
        return source
    return _BLANKS.get(source, source[1:])


def _decode_numeric(source: str) -> str:
    """Decode consecutive numeric escapes; some programs write the bytes of UTF-8 in them, one in each."""
    try:
        text = source.encode().decode("unicode_escape")
    except UnicodeDecodeError:
        return source
    if text.isascii():
        return _CONTROL.sub(" ", text)
    try:
        text = text.encode("latin-1").decode()
    except UnicodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub(" ", text)


def _decode_entity(entity: re.Match[str]) -> str:
    source = entity[0]
    text = decode_references(source)
    if entity["tag"]:
        return text.replace("\n", " ") if "\n" not in source else source
    if text in _MARKS and _is_within_word(entity):
        return source
    return "" if text == _SOFT_HYPHEN else _CONTROL.sub(" ", text)


def _decode_accent(accent: re.Match[str]) -> str:
    source = accent[0].strip("{} ")
    return unicodedata.normalize("NFC", source[-1] + _COMBINING[source[1]])


def _decode_letter(letter: re.Match[str]) -> str:
    return _LETTERS[letter[0].strip("\\{} \t")]


def _is_within_word(match: re.Match[str]) -> bool:
    before = match.string[match.start() - 1 : match.start()]
    behind = match.string[match.end() : match.end() + 1]
    return before not in _BEFORE_WORDS and behind not in _BEHIND_WORDS


class _Key(NamedTuple):
    start: int
    indent: int
    name: str
    has_parts: bool


def _keys(text: str, pattern: re.Pattern[str]) -> Iterator[_Key]:
    for match in pattern.finditer(text):
        name = single_line(match["quoted"] or match["bare"])
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
