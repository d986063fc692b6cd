"""Patterns that say which paths a search may draw on."""

from __future__ import annotations

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.walk.rule_layer import PathPatterns


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        (["*.md"], {"a.md", "src/a.md", "src/deep/a.md"}),
        (["src/**"], {"src/a.md", "src/a.py", "src/deep/a.md"}),
        (["/src/*.md"], {"src/a.md"}),
        (["deep"], {"src/deep/a.md"}),
        (["src/", "!deep/"], {"src/a.md", "src/a.py"}),
        (["!src/", "*.md"], {"a.md", "src/a.md", "src/deep/a.md"}),
        (["**/a.md", "!/a.md"], {"src/a.md", "src/deep/a.md"}),
        (["*.md", "*.md", "!*.md"], set()),
        (["*.{md,py}"], {"a.md", "src/a.md", "src/a.py", "src/deep/a.md"}),
        (["src/{a.{md,py},deep}"], {"src/a.md", "src/a.py", "src/deep/a.md"}),
        (["*.md", "!{src,other}/*.md"], {"a.md", "src/deep/a.md"}),
        (["{a}.md"], {"a.md", "src/a.md", "src/deep/a.md"}),
        (["*.{md"], set()),
        (["*.[{,}m]d"], {"a.md", "src/a.md", "src/deep/a.md"}),
    ],
)
def test_the_last_pattern_that_matches_a_path_or_a_directory_above_it_decides(
    patterns: list[str], wanted: set[str]
) -> None:
    tried = PathPatterns(patterns)
    paths = {"a.md", "src/a.md", "src/a.py", "src/deep/a.md"}
    assert {path for path in paths if tried.match(path)} == wanted


def test_a_name_that_is_no_unicode_is_compared_byte_by_byte() -> None:
    assert PathPatterns(["gr\udcfcn/*.md"]).match("gr\udcfcn/ä.md")


def test_stars_take_no_longer_the_more_there_are() -> None:
    assert not PathPatterns(["*a" * 100 + "*b"]).match("a" * 250)


def test_braces_that_hold_very_many_alternatives_are_refused() -> None:
    with pytest.raises(UsageError, match="too many alternatives"):
        PathPatterns(["{a,b}" * 20])


@pytest.mark.parametrize("pattern", ["a\\", "[z", "# remark", ""])
def test_what_is_no_pattern_is_an_error(pattern: str) -> None:
    with pytest.raises(UsageError):
        PathPatterns([pattern])
