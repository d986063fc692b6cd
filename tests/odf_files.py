"""Small OpenDocument files, packed or flat, as office programs write them."""

from __future__ import annotations

from collections.abc import Mapping

from office_files import zipped

_NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"'
    for prefix in "office style text table draw presentation meta svg manifest".split()
)
_OTHERS = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
_MEDIA_TYPES = {"odt": "text", "ods": "spreadsheet", "odp": "presentation", "odg": "graphics"}
_BODIES = {"odt": "text", "ods": "spreadsheet", "odp": "presentation", "odg": "drawing"}


def packed(
    kind: str, body: str, parts: Mapping[str, str | bytes] | None = None, *, styles: str = "", automatic: str = ""
) -> bytes:
    """Write a package; `styles` are the contents of `styles.xml`, `automatic` the styles that the content needs."""
    content = f"<office:automatic-styles>{automatic}</office:automatic-styles>{_body(kind, body)}"
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{_MEDIA_TYPES[kind]}",
            "content.xml": f"<office:document-content {_NAMESPACES} {_OTHERS}>{content}</office:document-content>",
            "styles.xml": f"<office:document-styles {_NAMESPACES} {_OTHERS}>{styles}</office:document-styles>",
            **(parts or {}),
        }
    )


def flat(kind: str, body: str, before: str = "") -> bytes:
    media_type = f"application/vnd.oasis.opendocument.{_MEDIA_TYPES[kind]}"
    root = f'office:document {_NAMESPACES} {_OTHERS} office:mimetype="{media_type}"'
    return f"<?xml version='1.0'?><{root}>{before}{_body(kind, body)}</office:document>".encode()


def _body(kind: str, body: str) -> str:
    return f"<office:body><office:{_BODIES[kind]}>{body}</office:{_BODIES[kind]}></office:body>"


def paragraph(text: str, style: str = "Standard") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def heading(level: int, text: str) -> str:
    return f'<text:h text:outline-level="{level}">{text}</text:h>'


def properties(**values: str) -> str:
    """Write `meta.xml`; a name like `dc_title` stands for `dc:title`."""
    written = "".join(
        f"<{name.replace('_', ':', 1).replace('_', '-')}>{value}</{name.replace('_', ':', 1).replace('_', '-')}>"
        for name, value in values.items()
    )
    statistic = '<meta:document-statistic meta:page-count="3"/>'
    return (
        f"<office:document-meta {_NAMESPACES} {_OTHERS}><office:meta>{written}{statistic}</office:meta>"
        "</office:document-meta>"
    )


def frame(*paragraphs: str, role: str = "") -> str:
    kind = f' presentation:class="{role}"' if role else ""
    written = "".join(paragraph(text) for text in paragraphs)
    return f"<draw:frame{kind}><draw:text-box>{written}</draw:text-box></draw:frame>"


def cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{paragraph(text) if text else ''}</table:table-cell>"


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def table(*rows: str, name: str = "T") -> str:
    return f'<table:table table:name="{name}">{"".join(rows)}</table:table>'
