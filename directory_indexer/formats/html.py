"""HTML and SVG: the visible text, on the lines on which it stands in the source, and the metadata of the head.

Markup is blanked in place by one pass over the tokens, without a tree: a million nested elements cost no more than a
million in a row, and `path:line` opens where the text is, which the parsers (lexbor, libxml2) do not tell.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from directory_indexer.formats.document import Document, Heading, decode_references, sections_of, single_line
from directory_indexer.formats.draft import LONG_TABLE, column_names
from directory_indexer.formats.html_tokens import (
    TOKEN,
    InvisibleElement,
    alternative_text,
    attribute,
    decode_entities,
    inline_frames,
    linked_data_texts,
    read_page_metadata,
)
from directory_indexer.formats.raised_marks import is_mark_after, is_mark_before


def extract_html(text: str, kind: str) -> Document:
    """Return the visible text of a page; only that of its main parts if the page marks them."""
    text = inline_frames(text)
    descriptions = _description_of(text)
    page = _main_page(text, descriptions) or _Page(text, descriptions=descriptions).read([(0, len(text))])
    if page.n_visible < _MAX_CHARACTERS_OF_APP:
        page = _read_data_or_title(text, descriptions, page)
    return Document(page.text, kind, title_of(text), sections_of(page.headings), metadata=read_page_metadata(text))


def extract_svg(text: str, kind: str) -> Document:
    """Return the text in a drawing: its labels, title and descriptions."""
    page = _Page(text, dropped=frozenset({"metadata"})).read([(0, len(text))])
    return Document(page.text, kind, title_of(text), sections_of(page.headings))


def main_part(text: str) -> str:
    """Return the source of the parts of a page that are marked as its main ones; "" if none are."""
    page = _main_page(text, {})
    return "".join(text[start:end] for start, end in page.spans) if page else ""


def n_visible(text: str) -> int:
    """Return the number of visible characters of a page."""
    return _Page(text).read([(0, len(text))]).n_visible


def title_of(text: str) -> str:
    """Return the title of a page; "" where it has none."""
    match = _TITLE.search(text[:_MAX_HEAD])
    return single_line(decode_references(match[1])) if match else ""


def _description_of(text: str) -> dict[int, str]:
    """Return the description in the head of a page, which browsers do not display, by its position."""
    match = _DESCRIPTION.search(text, 0, _MAX_HEAD)
    description = attribute(match[0], "content") if match else ""
    return {match.start(): description} if match and description else {}


def _main_page(text: str, descriptions: Mapping[int, str]) -> _Page | None:
    """Read the parts that are marked as main, or the articles, with the comments of readers below them."""
    marked = _main_spans(text)
    spans = marked or _span_of_articles(text)
    if not spans:
        return None
    comments = _spans_of_elements(text, _start_tags_of_comments(text, spans[-1][1]))
    page = _Page(text, dropped=_INVISIBLE | {"nav"}, descriptions=descriptions).read([*spans, *comments])
    if marked:
        return page if _has_enough_text(page.n_visible, text) else None
    # Where most of the text is outside of the articles, they are not what the page is about.
    return page if page.n_visible > n_visible(text) * _MIN_SHARE_OF_ARTICLES else None


def _has_enough_text(n_visible_in_main: int, text: str) -> bool:
    """Whether the main parts have enough text to be the content of a page: some hold a headline alone."""
    if n_visible_in_main >= _MIN_CHARACTERS_OF_MAIN:
        return True
    whole = _Page(text, dropped=_INVISIBLE | _OUTSIDE_MAIN).read([(0, len(text))])
    return bool(n_visible_in_main) and n_visible_in_main >= whole.n_visible * _MIN_SHARE_OF_MAIN


def _read_data_or_title(text: str, descriptions: Mapping[int, str], page: _Page) -> _Page:
    """Read a page again that shows next to nothing without its scripts: its JSON-LD data, or its title."""
    if _LINKED_DATA.search(text):
        page = _Page(text, descriptions=descriptions, reads_data=True).read([(0, len(text))])
    if page.text.strip() or not (title := _TITLE.search(text[:_MAX_HEAD])):
        return page
    return _Page(text, descriptions={**descriptions, title.start(): title_of(text)}).read([(0, len(text))])


def _main_spans(text: str) -> list[tuple[int, int]]:
    return _spans_of_elements(text, _MAIN.finditer(text)) or _spans_of_elements(text, _start_tags_with_main_role(text))


def _span_of_articles(text: str) -> list[tuple[int, int]]:
    """Return the span of the articles, or of the division around them: captions and authors stand beside an article."""
    tags = [match.span() for match in _ARTICLE.finditer(text)]
    if not tags:
        return []
    start, end = tags[0][0], tags[-1][1]
    division_start, division_end = _innermost_division(text, start)
    is_mostly_articles = end - start >= (division_end - division_start) * _MIN_SHARE_OF_DIVISION
    return [(division_start, division_end) if end <= division_end and is_mostly_articles else (start, end)]


def _innermost_division(text: str, position: int) -> tuple[int, int]:
    """Return the span of the innermost `div` that is open at a position; an empty one if none is."""
    open_tags: list[re.Match[str]] = []
    for tag in _DIVISION.finditer(text, 0, position):
        if tag[1]:
            open_tags.append(tag)
        else:
            del open_tags[-1:]
    return (open_tags[-1].start(), _end_of_element(text, open_tags[-1])) if open_tags else (position, position)


def _spans_of_elements(text: str, start_tags: Iterable[re.Match[str]]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    code: list[tuple[int, int]] | None = None
    for start_tag in start_tags:
        start = start_tag.start()
        code = list(_spans_of_code(text)) if code is None else code
        last_code = code[bisect_right(code, (start, len(text))) - 1] if code else (0, 0)
        if start >= (spans[-1][1] if spans else 0) and not last_code[0] <= start < last_code[1]:
            spans.append((start, _end_of_element(text, start_tag)))
    return spans


def _spans_of_code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of a source that are scripts and comments."""
    end = 0
    for opening in _CODE.finditer(text):
        if opening.start() >= end:
            end = text.find("-->" if opening[0] == "<!--" else "</script", opening.end())
            end = end if end >= 0 else len(text)
            yield opening.start(), end


def _start_tags_with_main_role(text: str) -> Iterator[re.Match[str]]:
    for role in _MAIN_ROLE.finditer(text):
        if start_tag := _START_TAG.match(text, _tag_before(text, role.start())):
            yield start_tag


def _start_tags_of_comments(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield the start tags of elements after `start` whose id or class is that of comments."""
    for name in _COMMENTS.finditer(text, start):
        if start_tag := _NAMED_START_TAG.fullmatch(text, _tag_before(text, name.start()), name.start()):
            yield start_tag


def _tag_before(text: str, end: int) -> int:
    return max(text.rfind("<", max(end - _MAX_TAG, 0), end), 0)


def _end_of_element(text: str, start_tag: re.Match[str]) -> int:
    depth = 0
    tags = re.compile(rf"<(/?){start_tag[1]}(?=[\s/>])", re.IGNORECASE)
    for tag in tags.finditer(text, start_tag.start()):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.start()
    return len(text)


class _Page:
    """The visible text of a page, written token by token."""

    def __init__(
        self,
        source: str,
        *,
        dropped: frozenset[str] | None = None,
        descriptions: Mapping[int, str] | None = None,
        reads_data: bool = False,
    ) -> None:
        self.headings: list[Heading] = []
        self.n_visible = 0
        self.spans: list[tuple[int, int]] = []
        self._source = source
        self._dropped = dropped = _INVISIBLE if dropped is None else dropped
        self._invisible = InvisibleElement(source, dropped)
        self._descriptions = descriptions or {}
        self._reads_data = reads_data
        self._relevant_tags = dropped | _BLOCKS | _WITH_DESCRIPTIONS | {"sup"}
        self._parts: list[str] = []
        self._length = 0
        self._last_character = "\n"
        self._is_verbatim = False
        self._needs_space = False
        self._is_superscript = False
        self._raised = ""
        """The superscript text written last, with the character before it."""

        self._open_heading: tuple[int, int, int] | None = None
        self._table: _OpenTable | None = None

    @property
    def text(self) -> str:
        """The text written so far."""
        return "".join(self._parts)

    def read(self, spans: Sequence[tuple[int, int]]) -> _Page:
        """Write the visible text in spans of the source; outside of them only line ends and descriptions are kept."""
        self.spans += spans
        position = 0
        for start, end in spans:
            self._write_descriptions(position, start)
            self._read_span(start, end)
            position = end
        self._write_descriptions(position, len(self._source))
        return self

    def _read_span(self, start: int, end: int) -> None:
        source = self._source
        position = start
        for token in TOKEN.finditer(source, start, end):
            token_start, token_end = token.span()
            if token_start > position:
                self._read_text(position, token_start)
            position = token_end
            # Most tags are links and spans, which change nothing.
            if (name := token["name"]) and (name := name.lower()) in self._relevant_tags:
                self._read_tag(name, token)
            elif token.lastgroup in _GROUPS_WITH_TEXT:
                self._read_raw_text(token)
            if n_lines := source.count("\n", token_start, token_end):
                self._write("\n" * n_lines)
        self._read_text(position, end)
        self._close_heading()

    def _write_descriptions(self, start: int, end: int) -> None:
        for at, description in self._descriptions.items():
            if start <= at < end:
                self._write_lines(start, at)
                self._write(description)
                start = at
        self._write_lines(start, end)

    def _read_raw_text(self, token: re.Match[str]) -> None:
        """Write the text of a CDATA section, or JSON-LD data if there is no other text."""
        if token["plain"]:
            self._needs_space = False
            self._write_separately("" if self._invisible.name else token["plain"])
        elif self._reads_data and self._invisible.name in _PLACES_OF_DATA and _LINKED_DATA.match(token[0]):
            self._write_separately(" ".join(linked_data_texts(token[0])))

    def _write_separately(self, text: str) -> None:
        """Write text that is not in the flow of the page, on one line."""
        if text := " ".join(text.split()):
            self._write(text if self._last_character in " \n" else f" {text}")
            self._needs_space = True

    def _read_text(self, start: int, end: int) -> None:
        if self._invisible.name:
            self._write_lines(start, end)
            return
        text = self._source[start:end]
        if "&" in text:
            text = decode_entities(text)
        if not self._is_verbatim:
            text = self._collapsed(text)
        if text == " ":
            self._needs_space = True
            return
        if self._is_superscript:
            self._needs_space |= is_mark_after("".join(self._parts[-_N_LAST_PARTS:]), text)
            self._raised = self._last_character + text
        elif self._raised:
            self._needs_space |= is_mark_before(self._raised, text)
            self._raised = ""
        if self._needs_space and self._last_character not in " \n" and not text.startswith((" ", "\n")):
            text = " " + text
        self._needs_space = False
        self._write(text)
        self.n_visible += 0 if text.isspace() else len(text)

    def _collapsed(self, text: str) -> str:
        text = _SPACES.sub(" ", text)
        if "\n" in text:
            text = text.replace(" \n", "\n").replace("\n ", "\n")
        return text.lstrip(" ") if self._last_character in " \n" else text

    def _read_tag(self, name: str, token: re.Match[str]) -> None:
        if description := self._descriptions.get(token.start()):
            self._write_separately(description)
        if not ((self._invisible.name or name in self._dropped) and self._invisible.consume(name, token)):
            self._read_block(name, token, is_end=bool(token["end"]))

    def _read_block(self, name: str, token: re.Match[str], *, is_end: bool) -> None:
        if name in _PICTURES:
            self._write_separately(alternative_text(token[0]))
            return
        if name == "sup":
            self._is_superscript = not is_end
            return
        self._needs_space = True
        if name == "pre":
            self._is_verbatim = not is_end
        elif name in _HEADING_LEVELS:
            self._close_heading()
            if not is_end:
                self._open_heading = (self._length, _HEADING_LEVELS[name], len(self._parts))
        elif name in _TABLE_PARTS:
            self._read_table(name, is_end=is_end)

    def _read_table(self, name: str, *, is_end: bool) -> None:
        table = self._table
        if table is None:
            self._table = _OpenTable() if name == "table" and not is_end else None
        elif name == "table":
            table.depth += -1 if is_end else 1
            table.is_layout |= table.depth > 1
            if not table.depth:
                self._add_table_headings(table)
                self._table = None
        elif table.depth == 1:
            table.end_part(self._parts)
            if not is_end:
                table.begin_part(name, start=self._length, n_parts=len(self._parts))

    def _add_table_headings(self, table: _OpenTable) -> None:
        """Put the rows of a long table under its caption and the names of its columns."""
        is_long = 0 < table.start < self._length - LONG_TABLE
        has_headings = bool(self.headings) and self.headings[-1].start >= table.start
        titles = [title for title in (single_line(table.caption), column_names(table.cells)) if title]
        if is_long and titles and not (has_headings or table.is_layout):
            self.headings += [
                Heading(table.start, _TABLE_HEADING_LEVEL + level, title) for level, title in enumerate(titles)
            ]
            self.headings.append(Heading(self._length, _TABLE_HEADING_LEVEL, ""))

    def _close_heading(self) -> None:
        if self._open_heading:
            start, level, n_parts = self._open_heading
            if title := single_line("".join(self._parts[n_parts:])).rstrip("¶# "):
                self.headings.append(Heading(start, level, title))
            self._open_heading = None

    def _write_lines(self, start: int, end: int) -> None:
        self._write("\n" * self._source.count("\n", start, end))

    def _write(self, piece: str) -> None:
        if piece:
            self._parts.append(piece)
            self._length += len(piece)
            self._last_character = piece[-1]


class _OpenTable:
    """The outermost open table: its caption, the cells of its first row, and where its second row begins."""

    def __init__(self) -> None:
        self.caption = ""
        self.cells: list[str] = []
        self.start = 0
        self.depth = 1
        self.is_layout = False
        self._n_parts = 0
        self._part = ""
        self._n_rows = 0

    def begin_part(self, name: str, *, start: int, n_parts: int) -> None:
        """Begin a row, a cell or the caption at a character of the page."""
        if name == "tr":
            self._n_rows += 1
            self.start = start if self._n_rows == _SECOND_ROW else self.start
        elif name == "caption" or self._n_rows < _SECOND_ROW:
            self._part, self._n_parts = name, n_parts

    def end_part(self, parts: Sequence[str]) -> None:
        """End the open cell or caption; its text is in the last parts of a page."""
        if self._part:
            text = " ".join("".join(parts[self._n_parts :]).split())
            if self._part == "caption":
                self.caption = text
            else:
                self.cells.append(text)
        self._part = ""


_MIN_SHARE_OF_MAIN: Final = 0.2
_MIN_SHARE_OF_ARTICLES: Final = 0.3
_MIN_SHARE_OF_DIVISION: Final = 0.75
_MAX_CHARACTERS_OF_APP: Final = 200
"""A page that shows less than this may be made by its scripts."""

_MIN_CHARACTERS_OF_MAIN: Final = 2_000
"""Main parts with so much text are the content of a page, whatever surrounds them."""

_MAX_HEAD: Final = 65_536

_INVISIBLE: Final = frozenset("canvas datalist defs head metadata noscript object symbol template".split())
_OUTSIDE_MAIN: Final = frozenset("aside footer header nav".split())
_PICTURES: Final = frozenset({"img", "area"})
_WITH_DESCRIPTIONS: Final = _PICTURES | {"meta", "title"}
_GROUPS_WITH_TEXT: Final = frozenset({"plain", "raw"})
_PLACES_OF_DATA: Final = frozenset({"", "head"})
_TABLE_PARTS: Final = frozenset({"table", "caption", "tr", "td", "th"})
_N_LAST_PARTS: Final = 4
_SECOND_ROW: Final = 2
_TABLE_HEADING_LEVEL: Final = 7
"""One below h6."""

_HEADING_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS: Final = frozenset(
    "address article aside blockquote body br button caption center dd desc details dialog dir div dl dt fieldset "
    "figcaption figure footer form header hgroup hr html label legend li main menu nav ol option p pre section select "
    "summary table tbody td text textarea tfoot th thead title tr ul".split()
) | frozenset(_HEADING_LEVELS)

_MAIN: Final = re.compile(r"<(main)(?=[\s>])(?![^>]*\shidden[\s=>])", re.IGNORECASE)
_CODE: Final = re.compile(r"<script\b|<!--")
_LINKED_DATA: Final = re.compile(r"<script\b[^>]*\btype\s*=\s*[\"']?application/ld\+json\b", re.IGNORECASE)
_DESCRIPTION: Final = re.compile(
    r"<meta\s(?=[^>]{0,1000}\b(?:name|property)\s*=\s*[\"']?(?:og:)?description\b)[^>]{1,4000}>", re.IGNORECASE
)
_MAIN_ROLE: Final = re.compile(r"role(?<!\wrole)\s*=\s*[\"']?main\b")
"""In lower case, as all pages with roles have it: this takes a twentieth of the time of any case."""

_START_TAG: Final = re.compile(r"<([a-zA-Z][\w-]{0,40})")
_MAX_TAG: Final = 2_000
_COMMENTS: Final = re.compile(
    r"omment(?<=[ck]omment)(?<!recent[ck]omment)(?<!recent[-_][ck]omment)(?<!latest[-_][ck]omment)"
    r"(?:a(?:ires|re)|s?(?:[-_]?(?:list|area|section|thread|wrapper|container|content|body|text))?)(?![\w-])"
)
"""Ids and classes of comments on a page, not of a list of the latest comments on a site.

It begins with letters alone, for which `re` searches ten times as fast.
"""

_NAMED_START_TAG: Final = re.compile(
    r"<(article|aside|div|li|ol|section|ul)\s(?:[^<>]*\s)?(?:id|class)\s*=\s*(?:\"[^\"<>]*|'[^'<>]*|[^\s\"'<>]*)",
    re.IGNORECASE,
)
"""The beginning of a tag, up to a word of its id or class."""

_ARTICLE: Final = re.compile(r"</?article(?=[\s>])", re.IGNORECASE)
_DIVISION: Final = re.compile(r"<(?:(div)|/div)(?=[\s/>])", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title(?:\s[^<>]*+)?>([^<]*)", re.IGNORECASE)
_SPACES: Final = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
