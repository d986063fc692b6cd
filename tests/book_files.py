"""Small EPUB books, as programs write them."""

from __future__ import annotations

from collections.abc import Mapping

from office_files import zipped


def epub(
    pages: Mapping[str, str],
    parts: Mapping[str, str | bytes] | None = None,
    *,
    contents: str = "",
    index: str = "",
    properties: str = "<dc:title>The Book</dc:title>",
) -> bytes:
    """Write a book; `pages` are bodies by their names, `contents` the list of a table of contents, `index` an NCX."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in pages)
    listed = '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>' if contents else ""
    listed += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>' if index else ""
    order = "".join(f'<itemref idref="{name}"/>' for name in pages)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
            "OPS/book.opf": f'<package xmlns:dc="dc" xmlns:opf="opf"><metadata>{properties}</metadata>'
            f"<manifest>{items}{listed}</manifest><spine>{order}</spine></package>",
            "OPS/nav.xhtml": f'<html xmlns:epub="e"><nav epub:type="toc">{contents}</nav>'
            '<nav epub:type="page-list"><ol><li><a href="one.xhtml">17</a></li></ol></nav></html>',
            "OPS/toc.ncx": f"<ncx><navMap>{index}</navMap></ncx>",
            **{f"OPS/{name}": page(body) for name, body in pages.items()},
            **(parts or {}),
        }
    )


def page(body: str) -> str:
    return (
        "<?xml version='1.0'?><!DOCTYPE html><html><head><title>head</title><style>p {}</style></head>"
        f"<body>{body}</body></html>"
    )


def entry(title: str, reference: str, inner: str = "") -> str:
    return f'<li><a href="{reference}">{title}</a>{inner}</li>'


def point(title: str, reference: str, inner: str = "") -> str:
    return f'<navPoint><navLabel><text>{title}</text></navLabel><content src="{reference}"/>{inner}</navPoint>'
