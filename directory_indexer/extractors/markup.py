"""Markup whose headings take a single line: AsciiDoc, Org, LaTeX, manual pages, wiki text and Typst."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from directory_indexer.extractors.document import Document, Metadata
from directory_indexer.extractors.escapes import unescaped
from directory_indexer.extractors.front_matter import KINDS_WITH_KEYWORDS, read_keywords
from directory_indexer.extractors.outline import Heading, one_line, sections_of


def extract_markup(text: str, kind: str) -> Document:
    """Return a text in one of the `MARKUP_KINDS` with its headings; only the accents of LaTeX are decoded."""
    text = unescaped(text, kind) if kind == "latex" else text
    syntax = _SYNTAXES[kind]
    headings = tuple(_headings(text, syntax))
    match = syntax.title.search(text, 0, _TITLE_WITHIN)
    title = syntax.clean(" ".join(filter(None, match.groups()))) if match else ""
    metadata = read_keywords(text, kind) if kind in KINDS_WITH_KEYWORDS else Metadata()
    return Document(text, kind, title, sections_of(headings), metadata=metadata)


class _Syntax(NamedTuple):
    """The headings of a markup, with the groups `mark` and `title`; `fence`, if any, opens and closes verbatim text."""

    heading: re.Pattern[str]
    level: Callable[[str], int]
    title: re.Pattern[str]
    clean: Callable[[str], str]


def _headings(text: str, syntax: _Syntax) -> Iterator[Heading]:
    open_fence = ""
    for match in syntax.heading.finditer(text):
        if match.lastgroup == "fence":
            open_fence = _fence_after(open_fence, match["fence"])
        elif not open_fence and (title := syntax.clean(match["title"])):
            yield Heading(match.start(), syntax.level(match["mark"]), title)


def _fence_after(open_fence: str, fence: str) -> str:
    if not open_fence:
        return fence
    return "" if open_fence == fence else open_fence


def _clean_org(title: str) -> str:
    return one_line(_ORG_NOISE.sub("", one_line(title)))


def _clean_latex(title: str) -> str:
    return one_line(_LATEX_NOISE.sub("", one_line(title).replace("~", " ").replace(r"\\", " ")))


def _clean_man(title: str) -> str:
    return one_line(_MAN_NOISE.sub("", one_line(title)).replace('"', ""))


_TITLE_WITHIN: Final = 65_536

_ORG_NOISE: Final = re.compile(r"^(?:TODO|DONE|NEXT|WAITING|CANCELL?ED)\s+|\[#[A-Z]\]\s*|\s+:[\w@#%:]+:$")
_LATEX_NOISE: Final = re.compile(r"\\[a-zA-Z]+\*?\s*|[{}$]|\\(?=[&%_#])")
_MAN_NOISE: Final = re.compile(r"\\f(?:[A-Z]|\(..|\[\w*\])|\\[&/,]|\\(?=-)")

_LATEX_LEVELS: Final = {
    "part": 1,
    "chapter": 2,
    "section": 3,
    "subsection": 4,
    "subsubsection": 5,
    "paragraph": 6,
    "subparagraph": 7,
}
_BRACED: Final = r"\{(?P<title>(?:[^{}]|\{[^{}]{0,200}\}){0,400})\}"

_SYNTAXES: Final[dict[str, _Syntax]] = {
    "asciidoc": _Syntax(
        re.compile(
            r"^(?:(?P<mark>={1,6}|\#{1,6})[ \t]+(?P<title>\S[^\n]*)|(?P<fence>-{4,}|\.{4,}|\+{4,}|/{4,}|```)[^\n]*)$",
            re.MULTILINE,
        ),
        len,
        re.compile(r"^=[ \t]+(\S[^\n]*)", re.MULTILINE),
        one_line,
    ),
    "latex": _Syntax(
        re.compile(
            r"\\(?P<mark>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?\s?(?:\[[^\]]{0,200}\])?" + _BRACED
        ),
        _LATEX_LEVELS.__getitem__,
        re.compile(r"\\title(?:\[[^\]]{0,200}\])?\{((?:[^{}]|\{[^{}]{0,200}\}){0,400})\}"),
        _clean_latex,
    ),
    "man": _Syntax(
        re.compile(r"^\.[ \t]*(?P<mark>S[HhSs])[ \t]+(?P<title>[^\n]+)", re.MULTILINE),
        lambda mark: 1 if mark.upper() == "SH" else 2,
        re.compile(r"^\.(?:TH|Dt)[ \t]+\"?([^\s\"]+)\"?[ \t]+\"?(\w+)", re.MULTILINE),
        _clean_man,
    ),
    "org": _Syntax(
        re.compile(r"^(?P<mark>\*+)[ \t]+(?P<title>\S[^\n]*)", re.MULTILINE),
        len,
        re.compile(r"^#\+title:[ \t]*(\S[^\n]*)", re.MULTILINE | re.IGNORECASE),
        _clean_org,
    ),
    "typst": _Syntax(
        re.compile(r"^(?P<mark>=+)[ \t]+(?P<title>\S[^\n]*)|^(?P<fence>```)", re.MULTILINE),
        len,
        re.compile(r"\btitle:[ \t]*[\[\"]([^\"\]\n]+)"),
        one_line,
    ),
    "wiki": _Syntax(
        re.compile(r"^(?P<mark>={1,6})(?P<title>[^=\n][^\n]*)(?P=mark)[ \t]*$", re.MULTILINE),
        len,
        re.compile(r"\{\{DISPLAYTITLE:([^}\n]+)"),
        one_line,
    ),
}

MARKUP_KINDS: Final = frozenset(_SYNTAXES)
