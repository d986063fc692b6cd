"""Markdown becomes a tree in which nothing can do anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.integrations.previewing.workers import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.integrations.previewing.requests import Node


def test_blocks_know_the_line_they_begin_in() -> None:
    blocks = tree_of("---\ntitle: x\n---\n# One\n\ntext\n\n- a\n- b\n").blocks
    assert [(one.tag, one.line) for one in blocks] == [("h1", 4), ("paragraph", 6), ("bullet_list", 8)]


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//evil.example", "a.md", "vbscript:x", "https:"],
)
def test_no_link_leads_anywhere_but_to_the_web(href: str) -> None:
    assert all(not one.href for one in _all(tree_of(f"[x](<{href}>)").blocks))


def test_links_to_the_web_are_kept() -> None:
    assert [one.href for one in _all(tree_of("[x](https://example.org/a?b=c)").blocks) if one.href] == [
        "https://example.org/a?b=c"
    ]


@pytest.mark.parametrize("href", ["a.md", "../src/a.py", "#how-it-works", "a.md#part", "./a%20b.md"])
def test_links_to_files_beside_it_keep_their_addresses(href: str) -> None:
    assert [(one.href, one.beside) for one in _all(tree_of(f"[x]({href})").blocks) if one.tag == "link"] == [("", href)]


@pytest.mark.parametrize(
    "href", ["javascript:alert(1)", "file:///etc/passwd", "//evil.example/a.md", "/etc/passwd", "c:/a.md", "a" * 2_000]
)
def test_no_other_link_is_one_to_a_file(href: str) -> None:
    assert all(not one.beside for one in _all(tree_of(f"[x](<{href}>)").blocks))


def test_a_part_counts_on_from_where_it_begins() -> None:
    assert [one.line for one in tree_of("---\n\n# One\n", start_line=500).blocks] == [500, 502]


def test_markup_is_text() -> None:
    markup = "<script>alert(1)</script>\n\na <b onclick=x>b</b>\n"
    nodes = list(_all(tree_of(markup).blocks))
    assert {one.tag for one in nodes} <= {"", "paragraph"}
    assert "".join(one.text for one in nodes) == "<script>alert(1)</script>a <b onclick=x>b</b>"


def test_pictures_are_named_and_not_fetched() -> None:
    [paragraph] = tree_of("![a cat](http://evil.example/x.png)").blocks
    [image] = paragraph.children
    assert (image.tag, image.href, image.children[0].text) == ("image", "", "a cat")


@pytest.mark.parametrize("text", ["> " * 5_000 + "x", "[" * 5_000, "*" * 20_000, "- " * 5_000, "`" * 5_000])
def test_what_is_nested_without_end_comes_to_an_end(text: str) -> None:
    assert _depth(tree_of(text).blocks) < 100


def _all(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _all(node.children)


def _depth(nodes: tuple[Node, ...]) -> int:
    return 1 + max((_depth(node.children) for node in nodes), default=0)
