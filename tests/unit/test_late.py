"""Marks spare the compilation of patterns; what is found must not depend on them, nor on the texts before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import secret_corpus

from directory_indexer.secrets import formats, strength, tokens, values
from directory_indexer.secrets.patterns import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Iterator

HASHES = [f"userPassword: {{{name}}}Zx8kQ2mVb7LpT4sWc9Yd" for name in ("SSHA", "SHA512", "MD5", "SMD5", "CRYPT")]
SAMPLES = [
    text
    for name in ("secret", "innocent")
    for file in secret_corpus.sample_files(name)
    for text in (file.content.decode("utf-8", "replace"), file.content.decode("utf-8", "replace").lower())
]
SEED = "Recovery phrase: acid able above absent abuse access act adapt age air alarm album"
KEY = "dirindex_Zx8kQ2mVb7LpT4sWc9YdZx8kQ2mVb7LpT4sWc9Yd123"
TEXTS = [*SAMPLES, *HASHES, SEED, KEY]


def patterns_in(value: object) -> Iterator[LazyPattern]:
    """Find patterns wherever tables hold them."""
    if isinstance(value, LazyPattern):
        yield value
    elif isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(part)


MARKED = {
    pattern.pattern: pattern
    for module in (formats, tokens, values, strength, tokens)
    for value in vars(module).values()
    for pattern in patterns_in(value)
    if pattern.marks
}


def spans(pattern: LazyPattern, text: str) -> list[tuple[int, int]]:
    return [found.span() for found in pattern.finditer(text)]


def test_there_are_patterns_with_marks() -> None:
    assert len(MARKED) >= 10


@pytest.mark.parametrize("pattern", MARKED.values(), ids=lambda pattern: pattern.marks[0])
def test_a_pattern_finds_in_a_first_text_what_it_finds_in_any(pattern: LazyPattern) -> None:
    without_marks = LazyPattern(pattern.pattern, pattern.flags)

    assert any(spans(without_marks, text) for text in TEXTS)
    for text in TEXTS:
        at_first = LazyPattern(pattern.pattern, pattern.flags, marks=pattern.marks)
        assert spans(at_first, text) == spans(without_marks, text)
