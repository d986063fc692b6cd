"""What a page says about itself in its head: names of HTML, of Dublin Core, and those that social networks ask for."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.front_matter import understood
from directory_indexer.extractors.properties import primary_language


def metadata_of_page(source: str) -> Metadata:
    """Read the `meta` elements of a page and the language that it declares."""
    head = source[:_WITHIN]
    metadata = understood(_fields(head))[1]
    found = _LANGUAGE.search(head)
    return metadata._replace(language=primary_language(found[1]) or metadata.language) if found else metadata


def _fields(head: str) -> Iterator[tuple[str, list[str]]]:
    for element in _META.finditer(head):
        said = {one[1].lower(): one[2] or one[3] or one[4] or "" for one in _ATTRIBUTE.finditer(element[0])}
        name = said.get("name") or said.get("property") or said.get("itemprop") or said.get("http-equiv") or ""
        if content := html.unescape(said.get("content", "")):
            yield _NAMES.get(name.lower(), name), [content]


_WITHIN: Final = 65_536
_META: Final = re.compile(r"<meta\s[^>]{1,4000}>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"([A-Za-z-]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_LANGUAGE: Final = re.compile(r"<html\b[^>]{0,1000}?\slang\s*=\s*[\"']?([A-Za-z-]{2,20})", re.IGNORECASE)
_NAMES: Final = {
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
