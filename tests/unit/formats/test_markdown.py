"""The headings and the title of Markdown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from markdown_it import MarkdownIt

from directory_indexer.formats.markup import extract_markdown, markdown_headings

EVERYTHING = """\
---
title: "From the front matter"
tags: [a, b]
# a comment in YAML
---

Before any heading.

# First *level* with `code`, [a link](http://x.y) and &amp; entity ##

```python
# a comment, no heading
```

## Second level {#anchor}

~~~~
~~~
# still no heading
~~~~

- item
  ```sh
  # nor this
  ```

    # nor this, which is indented code

Setext of the first level
=========================

Setext of the second
--------------------

| table | row |
| ----- | --- |

- a list, then a rule
---

<!--
# commented out
-->

<pre>
# preformatted
</pre>

#hashtag
####### seven
#
### Third
"""


def paths(text: str) -> list[tuple[int, tuple[str, ...]]]:
    document = extract_markdown(text, "markdown")
    return [(text.count("\n", 0, section.start) + 1, section.headings) for section in document.sections]


def test_headings_of_every_form_are_found_with_those_around_them() -> None:
    assert paths(EVERYTHING) == [
        (1, ()),
        (9, ("First *level* with code, a link and & entity",)),
        (15, ("First *level* with code, a link and & entity", "Second level")),
        (29, ("Setext of the first level",)),
        (32, ("Setext of the first level", "Setext of the second")),
        (52, ("Setext of the first level", "Setext of the second", "Third")),
    ]


def test_the_text_stays_as_it_is_with_its_front_matter() -> None:
    assert extract_markdown(EVERYTHING, "markdown").text == EVERYTHING


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (EVERYTHING, "From the front matter"),
        ("+++\ntitle = 'In TOML'\n+++\n# Heading\n", "In TOML"),
        ("---\ndate: 2024\n---\n# Heading\n", "Heading"),
        ("## Small\n\n# Big\n", "Big"),
        ("---\nno front matter, only a rule\n", ""),
        ("no heading at all\n", ""),
        ('# <img alt="logo" src="x.png">\n', "logo"),
    ],
)
def test_the_title_comes_from_front_matter_or_else_the_first_big_heading(text: str, title: str) -> None:
    assert extract_markdown(text, "markdown").title == title


def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    assert paths("# A\n```\n# b\n") == [(1, ("A",))]


def test_a_rule_below_a_paragraph_makes_no_heading_of_it() -> None:
    assert paths("a sentence\nand another\n---\n") == [(1, ())]


def test_a_heading_at_the_start_has_nothing_before_it() -> None:
    assert paths("# A\n## B\n# C\n") == [(1, ("A",)), (2, ("A", "B")), (3, ("C",))]


def test_a_deeper_heading_may_come_first() -> None:
    assert paths("### A\n# B\n## C\n") == [(1, ("A",)), (2, ("B",)), (3, ("B", "C"))]


@pytest.mark.parametrize(
    "text",
    [
        EVERYTHING.split("---\n", 2)[2],
        "a\n\nb\n===\n\n---\n\nc\n---\n",
        "# a\nb\n---\n# c",
        "> # quoted\n\n- # listed\n\n# plain\n",
        "1. one\n   ```\n   # x\n   ```\n2. two\n\n# y\n",
        "- ```\n  # x\n  ```\n\n# y\n",
        "````\n```\n# x\n```\n````\n# y\n",
        "``` not `a fence`\n# y\n",
        "<script>\n# x\n</script>\n\n# y\n",
        "***\n===\n# y #\n## #\n\n z\n  ---\n",
    ],
)
def test_headings_agree_with_commonmark(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(text)
    expected = [
        (token.map[0], int(token.tag[1]))
        for token, content in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map and content.content
    ]
    assert [(text.count("\n", 0, heading.start), heading.level) for heading in markdown_headings(text)] == expected
