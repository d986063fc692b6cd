"""Markdown in all its dialects: ATX and setext headings, and front matter.

A line scanner, because markdown-it-py reads 5 MB/s and this 50; where CommonMark is clear the two agree, which a test
asserts. Headings inside lists and quotations are content here, and an underline makes a heading of one line only.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.document import Document, Metadata
from directory_indexer.extractors.front_matter import FrontMatter, read_front_matter
from directory_indexer.extractors.outline import Heading, one_line, sections_of


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
    title = one_line(source)
    unclosed = title.rstrip("#")
    if not unclosed or unclosed.endswith(" "):
        title = unclosed.rstrip()
    for pattern, replacement in _INLINE_MARKUP:
        title = pattern.sub(replacement, title)
    return html.unescape(title).strip()


def title_of(headings: tuple[Heading, ...]) -> str:
    """Return the first heading of level 1, the title of a document; "" if there is none."""
    return next((heading.title for heading in headings if heading.level == 1), "")


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
