"""Word documents of before 2007, read by office-oxide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

import office_oxide

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.native import damage_of
from directory_indexer.extractors.tables import Cell, table_lines

_Node: TypeAlias = dict[str, Any]


def read_doc(content: bytes) -> Document:
    """Read a document; headers and footers come last, each text once.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    draft = Draft()
    running: dict[str, None] = {}
    for section in _sections(content):
        _write_nodes(section.get("elements", ()), draft)
        running |= {_text(section[part]): None for part in _RUNNING if section.get(part)}
    for text in running:
        draft.paragraph(text)
    return draft.document("doc")


def _sections(content: bytes) -> list[_Node]:
    with damage_of("Office document", office_oxide.OfficeOxideError, ValueError, RuntimeError):
        document = office_oxide.Document.from_bytes(content, "doc")
        sections: list[_Node] = document.to_ir()["sections"]
    return sections


def _write_nodes(nodes: Iterable[_Node], draft: Draft) -> None:
    for node in nodes:
        if write := _WRITERS.get(node["type"]):
            write(node, draft)


def _write_list(node: _Node, draft: Draft) -> None:
    for number, item in enumerate(node.get("items", ()), node.get("start_number") or 1):
        mark = f"{number}." if node.get("ordered") else "-"
        draft.item("  " * node.get("level", 0) + mark, _text(item))


def _write_table(node: _Node, draft: Draft) -> None:
    rows = node.get("rows", ())
    if all(len(row["cells"]) <= 1 for row in rows):
        _write_nodes((inner for row in rows for cell in row["cells"] for inner in cell["content"]), draft)
    else:
        draft.rows(table_lines([_cell(cell) for cell in row["cells"]] for row in rows))


def _cell(node: _Node) -> Cell:
    return Cell(_text(node), node.get("col_span") or 1, node.get("row_span") or 1)


def _text(node: _Node) -> str:
    """Return all the text in a node, with blanks between its blocks."""
    return "".join(_pieces(node)).strip()


def _pieces(node: _Node) -> Iterator[str]:
    if node.get("type") == "text":
        yield node["text"]
    elif node.get("type") == "line_break":
        yield "\n"
    for inner in (inner for key in _CONTENTS for inner in node.get(key) or ()):
        yield from _pieces(inner)
        if inner.get("type") not in _INLINE:
            yield " "


_RUNNING: Final = tuple(
    f"{which}{part}" for part in ("header", "footer") for which in ("", "first_page_", "even_page_")
)
_CONTENTS: Final = ("content", "items", "rows", "cells")
_INLINE: Final = frozenset({"text", "line_break", "image"})
_WRITERS: Final[dict[str, Callable[[_Node, Draft], None]]] = {
    "heading": lambda node, draft: draft.heading(node["level"], _text(node)),
    "paragraph": lambda node, draft: draft.paragraph(_text(node)),
    "list": _write_list,
    "table": _write_table,
    "text_box": lambda node, draft: _write_nodes(node["content"], draft),
    "footnote": lambda node, draft: draft.paragraph(_text(node)),
    "endnote": lambda node, draft: draft.paragraph(f"> {_text(node)}"),
}
