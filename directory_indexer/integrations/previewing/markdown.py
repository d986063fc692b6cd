"""Markdown as a tree of a few safe elements: no HTML, no images, links only to the web and to files beside it.

Links to files are resolved by the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from directory_indexer.integrations.previewing.requests import Node, Tree

_MAX_NODES: Final = 20_000
_ELEMENTS: Final = frozenset(
    {
        *("heading", "paragraph", "bullet_list", "ordered_list", "list_item", "blockquote", "hr", "em", "strong", "s"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
)
_SPACES: Final = {"softbreak": Node("", " "), "hardbreak": Node("br")}
_TEXTS: Final = frozenset({"text", "html_inline", "html_block"})
_LITERAL: Final = {"code_inline": "code", "fence": "pre", "code_block": "pre", "image": "image"}
"""Nodes with a text of their own; that of an image is its description."""

_SCHEMES: Final = frozenset({"http", "https"})
_MAX_ADDRESS_CHARS: Final = 1_024


def tree_of(text: str, *, start_line: int = 1) -> Tree:
    """Parse Markdown without its front matter."""
    n_lines = _front_matter(text) if start_line == 1 else 0
    body = "\n" * n_lines + "".join(text.splitlines(keepends=True)[n_lines:])
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    parser.disable("html_block")
    tokens: Sequence[Token] = parser.parse(body)
    return Tree(_Reader(start_line).nodes(SyntaxTreeNode(tokens).children))


def _front_matter(text: str) -> int:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:], 2) if line.rstrip() in {"---", "..."}), 0)


class _Reader:
    """Converts nodes, at most as many as a page can show."""

    def __init__(self, start_line: int) -> None:
        self._start_line = start_line
        self._n_nodes = 0

    def nodes(self, nodes: Sequence[SyntaxTreeNode]) -> tuple[Node, ...]:
        converted: list[Node] = []
        for node in nodes:
            self._n_nodes += 1
            if self._n_nodes > _MAX_NODES:
                break
            converted.extend(self._read(node))
        return tuple(converted)

    def _read(self, node: SyntaxTreeNode) -> tuple[Node, ...]:
        if node.type in _SPACES:
            return (_SPACES[node.type],)
        if node.type in _TEXTS:
            return (Node("", node.content),)
        if node.type in _LITERAL:
            return (Node(_LITERAL[node.type], children=(Node("", node.content or "picture"),), line=self._line(node)),)
        children = self.nodes(node.children)
        if node.type == "link":
            href, beside = _addresses(str(node.attrGet("href")))
            return (Node("link", children=children, href=href, beside=beside),)
        tag = node.tag if node.type == "heading" else node.type
        return (Node(tag, children=children, line=self._line(node)),) if node.type in _ELEMENTS else children

    def _line(self, node: SyntaxTreeNode) -> int:
        return node.map[0] + self._start_line if node.map else 0


def _addresses(href: str) -> tuple[str, str]:
    """Return the target of a link to the web, or that of a link to a file beside the document; others become text."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return "", ""
    if parts.scheme in _SCHEMES and parts.netloc:
        return href, ""
    is_beside = not parts.scheme and not parts.netloc and not parts.path.startswith(("/", "\\"))
    return "", href if is_beside and len(href) <= _MAX_ADDRESS_CHARS else ""
