"""Metadata in texts and pages."""

from __future__ import annotations

import pytest
from growth import require_linear

from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import Metadata
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.html import extract_html
from directory_indexer.formats.markup import extract_markdown, extract_markup, extract_restructuredtext
from directory_indexer.formats.metadata import read_front_matter

NOTE = Metadata(
    authors=("Ada Byron", "Karl Weber"),
    created="2024-03-05",
    modified="2024-04-01T10:00:00Z",
    language="de",
    subject="How the boiler was mended",
    tags=("house", "heating"),
)

YAML = """---
title: "The boiler: a story"
authors:
  - Ada Byron
  - name: Karl Weber
    email: karl@example.org
date: 2024-03-05
updated: 2024-04-01 10:00:00Z
lang: de-DE
description: >-
  How the boiler
  was mended
tags: [house, "heating"]  # two
draft: false
---
# Heading
"""

TOML = """+++
title = "The boiler: a story"
authors = ["Ada Byron", "Karl Weber"]
date = 2024-03-05
lastmod = "2024-04-01T10:00:00Z"
language = "de"
description = "How the boiler was mended"
[taxonomies]
tags = ["house", "heating"]
+++
# Heading
"""


@pytest.mark.parametrize("text", [YAML, TOML], ids=["yaml", "toml"])
def test_front_matter_says_what_a_note_is(text: str) -> None:
    document = extract_markdown(text, "markdown")

    assert document.title == "The boiler: a story"
    assert document.metadata == NOTE
    assert document.text == text
    assert document.sections[-1].headings == ("Heading",)


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: house, heating", ("house", "heating")),
        ("tags: house", ("house",)),
        ("tags:", ()),
        ("tags: []", ()),
        ("Keywords: 'a, b'", ("a", "b")),
        ("tags:\n- one\n- two # really", ("one", "two")),
        ("tagsy: no", ()),
    ],
)
def test_people_write_tags_in_many_ways(line: str, tags: tuple[str, ...]) -> None:
    matter = read_front_matter(f"---\n{line}\n---\ntext\n")
    assert matter is not None
    assert matter.metadata.tags == tags


@pytest.mark.parametrize("text", ["---\nno end\n", "text\n---\ntitle: x\n---\n", "", "---"])
def test_a_text_without_front_matter_has_none(text: str) -> None:
    assert read_front_matter(text) is None


def test_toml_that_is_none_says_nothing() -> None:
    matter = read_front_matter("+++\ntitle = [[[[\n+++\n")
    assert matter is not None
    assert matter.metadata == Metadata()


@pytest.mark.parametrize("written", ["yesterday", "99:99", "0000-00-00", "2024-13-40"])
def test_dates_that_are_none_are_left_out(written: str) -> None:
    matter = read_front_matter(f"---\ndate: {written}\n---\n")
    assert matter is not None
    assert matter.metadata.created == ""


def test_keywords_of_org_are_read() -> None:
    text = "#+TITLE: Boiler\n#+AUTHOR: Ada Byron\n#+DATE: <2024-03-05 Tue>\n#+KEYWORDS: house, heating\n* Heading\n"
    metadata = extract_markup(text, "org").metadata
    assert metadata == Metadata(authors=("Ada Byron",), created="2024-03-05", tags=("house", "heating"))


def test_fields_of_restructuredtext_and_asciidoc_are_read() -> None:
    expected = Metadata(authors=("Ada Byron",), created="2024-03-05")
    assert (
        extract_restructuredtext(
            "Boiler\n======\n\n:Author: Ada Byron\n:Date: 2024-03-05\n", "restructuredtext"
        ).metadata
        == expected
    )
    assert extract_markup("= Boiler\n:author: Ada Byron\n:date: 2024-03-05\n", "asciidoc").metadata == expected


def test_the_author_of_latex_is_read() -> None:
    text = "\\title{Boiler}\n\\author{Ada Byron}\n\\date{2024}\n\\begin{document}"
    assert extract_markup(text, "latex").metadata == Metadata(authors=("Ada Byron",), created="2024")


PAGE = """<!doctype html><html dir=ltr lang="de-AT"><head><title>Boiler</title>
<meta name="author" content="Ada Byron; Karl Weber">
<meta content='How the boiler &amp; I got on' name='description' />
<meta property=article:published_time content=2024-03-05T10:00:00+01:00>
<meta name="keywords" content="house, heating">
</head><body><p>Text</body></html>"""


def test_pages_say_it_in_their_head() -> None:
    assert extract_html(PAGE, "html").metadata == Metadata(
        authors=("Ada Byron", "Karl Weber"),
        created="2024-03-05T10:00:00+01:00",
        language="de",
        subject="How the boiler & I got on",
        tags=("house", "heating"),
    )


def test_a_page_without_a_head_says_nothing() -> None:
    assert extract_html("<p>one</p>", "html").metadata == Metadata()


@pytest.mark.parametrize(
    ("name", "start", "repeated", "end"),
    [
        ("a.tex", "x", "\n", "x"),
        ("a.h", "x", "\n", "x"),
        ("a.m", "x", "\n", "x"),
        ("a.md", "---\na:", " #", "'\n---\nx"),
        ("a.md", "---\na: |\n", " x\n", "---\nx"),
    ],
    ids=repr,
)
def test_what_repeats_in_the_head_of_a_text_is_read_in_linear_time(
    name: str, start: str, repeated: str, end: str
) -> None:
    def run(length: int) -> None:
        text = start + repeated * (length // len(repeated)) + end
        extract(text.encode(), FilePath(f"/{name}"))

    require_linear(run, 60_000)
