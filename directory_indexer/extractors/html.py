"""HTML and SVG: what a reader would see, on the very lines on which it stands in the source.

Markup is blanked in place by one pass over the tokens, without a tree: a million nested elements cost no more than a
million in a row, and `path:line` opens where the text is, which the parsers (lexbor, libxml2) do not tell.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Final

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.html_metadata import metadata_of_page
from directory_indexer.extractors.outline import Heading, one_line, sections_of


def extract_html(text: str, kind: str) -> Document:
    """Keep the visible text of a page; only that of its main part where the page says which that is."""
    page = _main_part(text) or _Page(text, dropped=_UNSEEN).read(0, len(text))
    return Document(page.text, kind, title_of(text), sections_of(page.headings), metadata=metadata_of_page(text))


def extract_svg(text: str, kind: str) -> Document:
    """Keep what is written in a drawing: its labels, title and descriptions."""
    page = _Page(text, dropped=frozenset({"metadata"})).read(0, len(text))
    return Document(page.text, kind, title_of(text), sections_of(page.headings))


def main_part(text: str) -> str:
    """Give the source of the part of a page that it says is its main one; "" where it says none."""
    if opening := _MAIN.search(text) or _opening_with_main_role(text):
        return text[opening.start() : _end_of_element(text, opening)]
    tags = [found.span() for found in _ARTICLE.finditer(text)]
    articles = text[tags[0][0] : tags[-1][1]] if tags else ""
    return articles if n_visible(articles) > n_visible(text) * _MIN_SHARE_OF_ARTICLES else ""


def n_visible(text: str) -> int:
    """Count the characters of a page that a reader would see."""
    return _Page(text, dropped=_UNSEEN).read(0, len(text)).n_visible


def title_of(text: str) -> str:
    """Give the title of a page; "" where it has none."""
    found = _TITLE.search(text[:_TITLE_WITHIN])
    return one_line(html.unescape(found[1])) if found else ""


def _main_part(text: str) -> _Page | None:
    if opening := _MAIN.search(text) or _opening_with_main_role(text):
        main = _Page(text, dropped=_UNSEEN | {"nav"}).read(opening.start(), _end_of_element(text, opening))
        return main if main.n_visible else None
    tags = [found.span() for found in _ARTICLE.finditer(text)]
    if not tags:
        return None
    articles = _Page(text, dropped=_UNSEEN | {"nav"}).read(tags[0][0], tags[-1][1])
    # A page of which most stands outside of its articles has something else to say.
    whole = _Page(text, dropped=_UNSEEN).read(0, len(text))
    return articles if articles.n_visible > whole.n_visible * _MIN_SHARE_OF_ARTICLES else whole


def _opening_with_main_role(text: str) -> re.Match[str] | None:
    role = _MAIN_ROLE.search(text)
    return _ANY_OPENING.match(text, text.rfind("<", 0, role.start())) if role else None


def _end_of_element(text: str, opening: re.Match[str]) -> int:
    depth = 0
    tags = re.compile(rf"<(/?){opening[1]}(?=[\s/>])", re.IGNORECASE)
    for tag in tags.finditer(text, opening.start()):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.start()
    return len(text)


class _Page:
    """The visible text of a source as it is written, token by token."""

    def __init__(self, source: str, *, dropped: frozenset[str]) -> None:
        self.headings: list[Heading] = []
        self.n_visible = 0
        self._source = source
        self._dropped = dropped
        self._noticed = dropped | _BLOCKS
        self._parts: list[str] = []
        self._length = 0
        self._last = "\n"
        self._is_verbatim = False
        self._is_apart = False
        self._skipped = ""
        self._skip_depth = 0
        self._last_closings: dict[str, int] = {}
        self._open_heading: tuple[int, int, int] | None = None

    @property
    def text(self) -> str:
        """What was written so far."""
        return "".join(self._parts)

    def read(self, start: int, end: int) -> _Page:
        """Write what is visible between two characters of the source; elsewhere only its lines count."""
        source = self._source
        self._write_lines(0, start)
        position = start
        for token in TOKEN.finditer(source, start, end):
            token_start, token_end = token.span()
            if token_start > position:
                self._read_text(position, token_start)
            position = token_end
            # Most tags are links and spans, which change nothing.
            if (name := token["name"]) and (name := name.lower()) in self._noticed:
                self._read_tag(name, token)
            if n_lines := source.count("\n", token_start, token_end):
                self._write("\n" * n_lines)
        self._read_text(position, end)
        self._close_heading()
        self._write_lines(end, len(source))
        return self

    def _read_text(self, start: int, end: int) -> None:
        if self._skipped:
            self._write_lines(start, end)
            return
        text = self._source[start:end]
        if "&" in text:
            text = decoded(text)
        if not self._is_verbatim:
            text = self._collapsed(text)
        if text == " ":
            self._is_apart = True
            return
        if self._is_apart and self._last not in " \n" and not text.startswith((" ", "\n")):
            text = " " + text
        self._is_apart = False
        self._write(text)
        self.n_visible += 0 if text.isspace() else len(text)

    def _collapsed(self, text: str) -> str:
        text = _SPACES.sub(" ", text)
        if "\n" in text:
            text = text.replace(" \n", "\n").replace("\n ", "\n")
        return text.lstrip(" ") if self._last in " \n" else text

    def _read_tag(self, name: str, token: re.Match[str]) -> None:
        is_end = bool(token["end"])
        if self._skipped:
            self._leave_skipped(name, token, is_end=is_end)
        elif name in self._dropped and not is_end and self._last_closing(name) > token.end():
            self._skipped, self._skip_depth = name, 1
        else:
            self._read_block(name, is_end=is_end)

    def _leave_skipped(self, name: str, token: re.Match[str], *, is_end: bool) -> None:
        if name != self._skipped or token[0].endswith("/>"):
            return
        self._skip_depth += -1 if is_end else 1
        if not self._skip_depth or token.start() >= self._last_closing(name):
            self._skipped = ""

    def _last_closing(self, name: str) -> int:
        if name not in self._last_closings:
            positions = [found.start() for found in re.finditer(rf"</{name}", self._source, re.IGNORECASE)]
            self._last_closings[name] = positions[-1] if positions else -1
        return self._last_closings[name]

    def _read_block(self, name: str, *, is_end: bool) -> None:
        self._is_apart = True
        if name == "pre":
            self._is_verbatim = not is_end
        elif name in _HEADING_LEVELS:
            self._close_heading()
            if not is_end:
                self._open_heading = (self._length, _HEADING_LEVELS[name], len(self._parts))

    def _close_heading(self) -> None:
        if self._open_heading:
            start, level, n_parts = self._open_heading
            if title := one_line("".join(self._parts[n_parts:])).rstrip("¶# "):
                self.headings.append(Heading(start, level, title))
            self._open_heading = None

    def _write_lines(self, start: int, end: int) -> None:
        self._write("\n" * self._source.count("\n", start, end))

    def _write(self, piece: str) -> None:
        if piece:
            self._parts.append(piece)
            self._length += len(piece)
            self._last = piece[-1]


def decoded(text: str) -> str:
    """Put characters in the place of their entities."""
    return _ENTITY.sub(lambda entity: _character(entity[0]), text)


@lru_cache(maxsize=1024)
def _character(entity: str) -> str:
    # A line end that is written as an entity is no line of the source; soft hyphens would break words.
    return html.unescape(entity).translate(_NO_LAYOUT)


_MIN_SHARE_OF_ARTICLES: Final = 0.3
_TITLE_WITHIN: Final = 65_536

_UNSEEN: Final = frozenset({"canvas", "datalist", "head", "noscript", "object", "svg", "template"})
_HEADING_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS: Final = frozenset(
    "address article aside blockquote body br button caption center dd desc details dialog dir div dl dt fieldset "
    "figcaption figure footer form header hgroup hr html label legend li main menu nav ol option p pre section select "
    "summary table tbody td text tfoot th thead title tr ul".split()
) | frozenset(_HEADING_LEVELS)

# Quotes count only behind an equals sign, as in the HTML standard; possessive, so that no text is read twice.
_ATTRIBUTES: Final = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?)*+(?:>|\Z)"
_RAW_ELEMENTS: Final = r"(?=[iInNsStTxX])(?P<raw>(?i:script|style|textarea|iframe|noembed|noframes|xmp))(?=[\s/>])"
TOKEN: Final = re.compile(
    r"<(?:"
    rf"{_RAW_ELEMENTS}{_ATTRIBUTES}[\s\S]*?(?:</(?i:(?P=raw))[^>]*+>?|\Z)"
    rf"|(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+){_ATTRIBUTES}"
    r"|!--[\s\S]*?(?:-->|\Z)"
    r"|[!?][^>]*+(?:>|\Z)"
    r")"
)
"""A tag with its `name`, and with an `end` if it closes an element; or an element of code, whole; or a comment."""

_MAIN: Final = re.compile(r"<(main)(?=[\s>])", re.IGNORECASE)
_MAIN_ROLE: Final = re.compile(r"\brole\s*=\s*[\"']?main\b", re.IGNORECASE)
_ANY_OPENING: Final = re.compile(r"<([a-zA-Z][\w-]{0,40})")
_ARTICLE: Final = re.compile(r"</?article(?=[\s>])", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title(?:\s[^<>]*+)?>([^<]*)", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")
_SPACES: Final = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_NO_LAYOUT: Final = {0x0A: " ", 0x0D: " ", 0xAD: None}
