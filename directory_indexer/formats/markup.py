"""Lightweight markup: Markdown, AsciiDoc, Org, LaTeX, manual pages, wiki text, Typst and reStructuredText.

Line scanners, because markdown-it-py reads 5 MB/s and this 50, and docutils runs directives, writes to stderr and reads
0.3 MB/s. Where CommonMark is clear the two agree, which a test asserts. In Markdown, headings inside lists and
quotations are content, and an underline makes a heading of one line only; in reStructuredText, titles have levels in
the order in which their adornments first appear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from directory_indexer.formats.document import Document, Heading, Metadata, decode_references, sections_of, single_line
from directory_indexer.formats.metadata import KINDS_WITH_KEYWORDS, FrontMatter, read_front_matter, read_keywords
from directory_indexer.formats.structured import unescape

_CONTAINER: Final = r"(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*+"
_BLOCK: Final = re.compile(
    r"^[ ]{0,3}(?:"
    r"(?P<marks>\#{1,6})(?![^ \t\n])(?P<atx>[^\n]*)"
    r"|(?P<underline>=+|-+)[ \t]*$"
    rf"|{_CONTAINER}(?P<fence>`{{3,}}(?=[^`\n]*$)|~{{3,}})"
    r"|<(?P<html>!--|pre\b|script\b|style\b|textarea\b)"
    r")",
    re.MULTILINE,
)
_CLOSING_FENCES: Final = {
    mark: re.compile(rf"^[ \t>]*(?P<fence>{mark}{{3,}})[ \t]*$", re.MULTILINE) for mark in ("`", "~")
}
_PARAGRAPH_LINE: Final = re.compile(
    r"[ ]{0,3}(?![-*+>][ \t]|\d{1,9}[.)][ \t]|\#{1,6}[ \t]|```|~~~|[|<>]|[-=*_][-=*_ \t]*(?:\n|\Z))\S"
)
_INLINE_MARKUP: Final = (
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\s*\{[#.:][^}]*\}$"), ""),
    (re.compile(r"<img\s[^>]*?alt=\"([^\"]*)\"[^>]*>"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^>]*>"), ""),
    (re.compile(r"\*\*|__|`|\\(?=[_*#\[\]<>`])"), ""),
)

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

_MIN_SHORT_ADORNMENT: Final = 4
_UNDERLINED: Final = re.compile(
    r"^(?P<title>(?!\.\. )(?:\S|[ ]{1,8}\S)[^\n]*)\n(?P<adornment>([!-/:-@\[-`{-~])\3+)[ \t]*$", re.MULTILINE
)
_ROLE: Final = re.compile(r":[\w:-]{1,40}:`([^`<]*?)(?:\s*<[^`]*>)?`")


def extract_markdown(text: str, kind: str) -> Document:
    """Return a Markdown text, front matter included, with its headings."""
    matter = read_front_matter(text) or FrontMatter(0, "", Metadata())
    headings = tuple(markdown_headings(text, start=matter.end))
    title = matter.title or title_of(headings)
    return Document(text, kind, title, sections_of(headings), metadata=matter.metadata)


def markdown_headings(text: str, *, start: int = 0) -> Iterator[Heading]:
    """Yield the headings from character `start` on, in order."""
    position = start
    while block := _BLOCK.search(text, position):
        block_end = block.end()
        match block.lastgroup:
            case "atx":
                if title := plain_title(block["atx"]):
                    yield Heading(block.start(), len(block["marks"]), title)
            case "underline":
                if heading := _setext_heading(text, block, position):
                    yield heading
            case "fence":
                block_end = _end_of_fence(text, block)
            case _:
                block_end = _end_of_html(text, block)
        position = block_end


def plain_title(source: str) -> str:
    """Return a heading without its markup."""
    title = single_line(source)
    unclosed = title.rstrip("#")
    if not unclosed or unclosed.endswith(" "):
        title = unclosed.rstrip()
    for pattern, replacement in _INLINE_MARKUP:
        title = pattern.sub(replacement, title)
    return decode_references(title).strip()


def title_of(headings: tuple[Heading, ...]) -> str:
    """Return the first heading of level 1, the title of a document; "" if there is none."""
    return next((heading.title for heading in headings if heading.level == 1), "")


def extract_markup(text: str, kind: str) -> Document:
    """Return a text in one of the `MARKUP_KINDS` with its headings; only the accents of LaTeX are decoded."""
    text = unescape(text, kind) if kind == "latex" else text
    syntax = _SYNTAXES[kind]
    headings = tuple(_headings(text, syntax))
    match = syntax.title.search(text, 0, _TITLE_WITHIN)
    title = syntax.clean(" ".join(filter(None, match.groups()))) if match else ""
    metadata = read_keywords(text, kind) if kind in KINDS_WITH_KEYWORDS else Metadata()
    return Document(text, kind, title, sections_of(headings), metadata=metadata)


def extract_restructuredtext(text: str, kind: str) -> Document:
    """Return a reStructuredText with its section titles."""
    headings = tuple(_adorned_headings(text))
    return Document(text, kind, title_of(headings), sections_of(headings), metadata=read_keywords(text, kind))


def _setext_heading(text: str, underline: re.Match[str], block_start: int) -> Heading | None:
    end = underline.start() - 1
    start = max(text.rfind("\n", block_start, max(end, block_start)) + 1, block_start)
    if not _PARAGRAPH_LINE.match(text, start, max(end, start)) or _is_paragraph_above(text, start, block_start):
        return None
    title = plain_title(text[start:end])
    return Heading(start, 1 if underline["underline"][0] == "=" else 2, title) if title else None


def _is_paragraph_above(text: str, line_start: int, block_start: int) -> bool:
    above = max(text.rfind("\n", block_start, max(line_start - 1, block_start)) + 1, block_start)
    return bool(_PARAGRAPH_LINE.match(text, above, max(line_start - 1, above)))


def _end_of_fence(text: str, opening: re.Match[str]) -> int:
    fence = opening["fence"]
    closing = _CLOSING_FENCES[fence[0]]
    max_indent = opening.start("fence") - opening.start() + 3
    for fence_line in closing.finditer(text, opening.end()):
        if len(fence_line["fence"]) >= len(fence) and fence_line.start("fence") - fence_line.start() <= max_indent:
            return fence_line.end()
    return len(text)


def _end_of_html(text: str, opening: re.Match[str]) -> int:
    closing = "-->" if opening["html"] == "!--" else f"</{opening['html']}"
    end = text.find(closing, opening.end())
    return len(text) if end < 0 else end + len(closing)


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
    return single_line(_ORG_NOISE.sub("", single_line(title)))


def _clean_latex(title: str) -> str:
    return single_line(_LATEX_NOISE.sub("", single_line(title).replace("~", " ").replace(r"\\", " ")))


def _clean_man(title: str) -> str:
    return single_line(_MAN_NOISE.sub("", single_line(title)).replace('"', ""))


def _adorned_headings(text: str) -> Iterator[Heading]:
    levels: dict[tuple[str, bool], int] = {}
    end_of_last = 0
    for underline in _UNDERLINED.finditer(text):
        if underline.start() < end_of_last or not _is_title(underline):
            continue
        over = _overline(text, underline)
        style = (underline["adornment"][0], over is not None)
        start = underline.start() if over is None else over
        yield Heading(start, levels.setdefault(style, len(levels) + 1), _plain_text(underline["title"]))
        end_of_last = underline.end()


def _is_title(underline: re.Match[str]) -> bool:
    title, adornment = underline["title"].rstrip(), underline["adornment"]
    if title[0] == adornment[0] and title == title[0] * len(title):
        return False
    # Docutils warns of an underline that is too short, but accepts it from four characters on.
    return len(adornment) >= min(len(title.lstrip()), _MIN_SHORT_ADORNMENT)


def _overline(text: str, underline: re.Match[str]) -> int | None:
    """Return the start of the line above if it repeats the adornment; an indented title needs one."""
    end = underline.start() - 1
    start = text.rfind("\n", 0, max(end, 0)) + 1
    return start if end > 0 and text[start:end].rstrip() == underline["adornment"] else None


def _plain_text(title: str) -> str:
    return single_line(_ROLE.sub(r"\1", single_line(title)).replace("``", "").replace("`", "").replace("**", ""))


_SYNTAXES: Final[dict[str, _Syntax]] = {
    "asciidoc": _Syntax(
        re.compile(
            r"^(?:(?P<mark>={1,6}|\#{1,6})[ \t]+(?P<title>\S[^\n]*)|(?P<fence>-{4,}|\.{4,}|\+{4,}|/{4,}|```)[^\n]*)$",
            re.MULTILINE,
        ),
        len,
        re.compile(r"^=[ \t]+(\S[^\n]*)", re.MULTILINE),
        single_line,
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
        single_line,
    ),
    "wiki": _Syntax(
        re.compile(r"^(?P<mark>={1,6})(?P<title>[^=\n][^\n]*)(?P=mark)[ \t]*$", re.MULTILINE),
        len,
        re.compile(r"\{\{DISPLAYTITLE:([^}\n]+)"),
        single_line,
    ),
}

MARKUP_KINDS: Final = frozenset(_SYNTAXES)
