"""Tokens of HTML: tags and their attributes, character references, and elements that are not displayed.

Also linked data, and the metadata of the head, in the names of HTML, Dublin Core and Open Graph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from directory_indexer.formats.document import Metadata, decode_references
from directory_indexer.formats.metadata import interpret_fields, primary_language

# Quotes count only behind an equals sign, as in the HTML standard; possessive, so that no text is read twice.
_ATTRIBUTES: Final = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?)*+(?:>|\Z)"
_RAW_ELEMENTS: Final = r"(?=[iInNsSxX])(?P<raw>(?i:script|style|iframe|noembed|xmp))(?=[\s/>])"
TOKEN: Final = re.compile(
    r"<(?:"
    rf"{_RAW_ELEMENTS}{_ATTRIBUTES}[\s\S]*?(?:</(?i:(?P=raw))[^>]*+>?|\Z)"
    rf"|(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+){_ATTRIBUTES}"
    r"|!--[\s\S]*?(?:-->|\Z)"
    r"|!\[CDATA\[(?P<plain>[\s\S]*?)(?:\]\]>|\Z)"
    r"|[!?][^>]*+(?:>|\Z)"
    r")"
)
"""A tag with its `name`, and with an `end` if it closes an element; a whole element of code; a comment; or a section of
`plain` characters.
"""


class InvisibleElement:
    """The open element of a page that is not displayed, with everything nested in it.

    One without an end tag is not opened, so that it hides nothing else.
    """

    def __init__(self, source: str, names: Collection[str]) -> None:
        self.name = ""
        """The name of the element; "" if none is open."""

        self._source = source
        self._names = names
        self._depth = 0
        self._last_end_tags: dict[str, int] = {}

    def consume(self, name: str, token: re.Match[str]) -> bool:
        """Whether a tag belongs to an invisible element, which is entered or left by it."""
        if not self.name and (name not in self._names or _SHADOW_ROOT.search(token[0])):
            return False
        if token[0].endswith("/>"):
            return True
        if not self.name:
            if not token["end"] and self._last_end_tag(name) > token.end():
                self.name, self._depth = name, 1
        elif name == self.name:
            self._depth += -1 if token["end"] else 1
            if not self._depth or token.start() >= self._last_end_tag(name):
                self.name = ""
        return True

    def _last_end_tag(self, name: str) -> int:
        if name not in self._last_end_tags:
            end_tags = re.finditer(rf"</{name}", self._source, re.IGNORECASE)
            self._last_end_tags[name] = max((end_tag.start() for end_tag in end_tags), default=-1)
        return self._last_end_tags[name]


def decode_entities(text: str) -> str:
    """Decode the entities in a text."""
    return _ENTITY.sub(lambda entity: _character(entity[0]), text)


def inline_frames(source: str) -> str:
    """Return the source of a page with the pages that stand in `srcdoc` put in place of their frames, line by line."""
    return TOKEN.sub(_inline_frame, source) if "srcdoc" in source else source


def attribute(tag: str, name: str) -> str:
    """Return the value of an attribute of a tag; "" where it has none."""
    match = re.search(rf"\s{name}\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", tag, re.IGNORECASE)
    return " ".join(decode_references(match[1] or match[2] or match[3] or "").split()) if match else ""


def alternative_text(tag: str) -> str:
    """Return the alternative text of a picture; "" if it is the name of its file."""
    return description(attribute(tag, "alt"))


def description(text: str) -> str:
    """Return an alternative text on one line; "" if it is the name of the picture's file."""
    text = " ".join(text[:_MAX_ALTERNATIVE_TEXT].split())
    return "" if _FILE_NAME.fullmatch(text) else text


def linked_data_texts(script: str) -> Iterator[str]:
    """Yield the readable texts in data for search engines (JSON-LD), each once."""
    start = script.find(">") + 1
    end = script.rfind("<")
    try:
        pending: list[object] = [json.loads(script[start : end if end > start else None])]
    except (ValueError, RecursionError):
        return
    seen_texts: set[str] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += reversed(value)
        elif isinstance(value, dict):
            pending += reversed([part for part in value.values() if isinstance(part, dict | list)])
            texts = {text: None for name in _DATA_TEXTS if isinstance(text := value.get(name), str)}
            yield from (decode_references(text) for text in texts if text not in seen_texts)
            seen_texts.update(texts)


def _inline_frame(token: re.Match[str]) -> str:
    frame = token[0]
    page = _FRAME_PAGE.match(frame) if token["raw"] else None
    if not page:
        return frame
    before, after = frame.count("\n", 0, page.end("open")), frame.count("\n", page.start("close"))
    return "\n" * before + f"<div>{decode_entities(page['source'])}{_END_OF_FRAME}" + "\n" * after


@lru_cache(maxsize=1024)
def _character(entity: str) -> str:
    # A line end written as an entity is no line end of the source; soft hyphens would split words.
    return decode_references(entity).translate(_WITHOUT_LAYOUT)


def read_page_metadata(source: str) -> Metadata:
    """Return the metadata in the `meta` elements of a page and the language that it declares."""
    head = source[:_MAX_HEAD]
    metadata = interpret_fields(_meta_fields(head))[1]
    match = _LANGUAGE.search(head)
    return metadata._replace(language=primary_language(match[1]) or metadata.language) if match else metadata


def _meta_fields(head: str) -> Iterator[tuple[str, list[str]]]:
    for element in _META.finditer(head):
        attributes = {
            match[1].lower(): match[2] or match[3] or match[4] or "" for match in _ATTRIBUTE.finditer(element[0])
        }
        name = (
            attributes.get("name")
            or attributes.get("property")
            or attributes.get("itemprop")
            or attributes.get("http-equiv")
            or ""
        )
        if content := decode_references(attributes.get("content", "")):
            yield _FIELD_NAMES.get(name.lower(), name), [content]


_SHADOW_ROOT: Final = re.compile(r"\sshadowrootmode\s*=", re.IGNORECASE)
"""In the tag of a template that is displayed, as the content of the element around it."""

_FRAME_PAGE: Final = re.compile(
    r"(?P<open><iframe\s(?:[^>\"']|\"[^\"]*\"|'[^']*')*?(?<=\s)srcdoc\s*=\s*(?P<quote>[\"']))"
    r"(?P<source>[\s\S]*?)(?P<close>(?P=quote))",
    re.IGNORECASE,
)
_END_OF_FRAME: Final = "</script></style><!----></div>"
"""Ends everything that the page in a frame leaves open."""

_MAX_ALTERNATIVE_TEXT: Final = 1_000
_DATA_TEXTS: Final = (
    "name headline alternativeHeadline description abstract articleBody reviewBody text caption".split()
)
_FILE_NAME: Final = re.compile(r"(?:\S+|[a-z]:\\.*)\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?|[ew]mf)", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")
_WITHOUT_LAYOUT: Final = {0x0A: " ", 0x0D: " ", 0xAD: None}
_MAX_HEAD: Final = 65_536
_META: Final = re.compile(r"<meta\s[^>]{1,4000}>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"([A-Za-z-]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_LANGUAGE: Final = re.compile(r"<html\b[^>]{0,1000}?\slang\s*=\s*[\"']?([A-Za-z-]{2,20})", re.IGNORECASE)
_FIELD_NAMES: Final = {
    "article:author": "author",
    "article:modified_time": "modified",
    "article:published_time": "date",
    "article:tag": "tags",
    "content-language": "language",
    "datepublished": "date",
    "datemodified": "modified",
    "dc.creator": "author",
    "dc.subject": "tags",
    "dcterms.created": "date",
    "dcterms.creator": "author",
    "dcterms.modified": "modified",
    "dcterms.subject": "tags",
    "og:description": "description",
    "og:locale": "language",
    "og:updated_time": "modified",
}
