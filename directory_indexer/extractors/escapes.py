"""Escapes of JSON, YAML, TOML, gettext, Java properties, XML and LaTeX, decoded before indexing.

Each line stays a line: the escape of a line end becomes a blank. A quotation mark, and anything else that may end a
value, is decoded only at the edge of a word, so that the masking of secrets sees where a value ends that has one in it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

from directory_indexer.extractors.document import Document


def extract_escaped(text: str, kind: str) -> Document:
    """Return the text with its escapes decoded."""
    return Document(unescaped(text, kind), kind)


def unescaped(text: str, kind: str) -> str:
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
    text = html.unescape(source)
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


_WITH_PLAIN_VALUES: Final = frozenset({"yaml", "toml"})
"""Kinds in which a backslash outside of quotes is a plain character."""

_QUOTED: Final = re.compile(r"(?:(?<=[:=,\[{?-] )|(?<=[\[{=,])|^[ \t]*+)\"(?:[^\"\\]++|\\[\s\S])*+\"", re.MULTILINE)
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
