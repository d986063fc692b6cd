"""Metadata in the head of a page: HTML, Dublin Core and Open Graph."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.front_matter import understood
from directory_indexer.extractors.properties import primary_language


def metadata_of_page(source: str) -> Metadata:
    """Return the metadata in the `meta` elements of a page and the language that it declares."""
    head = source[:_WITHIN]
    metadata = understood(_fields(head))[1]
    match = _LANGUAGE.search(head)
    return metadata._replace(language=primary_language(match[1]) or metadata.language) if match else metadata


def _fields(head: str) -> Iterator[tuple[str, list[str]]]:
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
        if content := html.unescape(attributes.get("content", "")):
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
