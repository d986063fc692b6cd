"""Exact lines from the index: what a look at every line of every file finds, and nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from indexes import Index

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.paths import FilePath
from directory_indexer.matching import LinePattern, PatternOptions
from directory_indexer.search.grep import GrepRequest, files_without_match, grep, grep_warnings
from directory_indexer.search.requests import SearchMode
from directory_indexer.search.sections import expand_to_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

LETTERS = st.sampled_from(
    [*"abAB_ .-,:é東京おßиМ\u0301\u00ad\u200bk\u212a\u017f", "ab", "foo", "Foo ", "bar_", " 14", "東京都"]
)
LINES = st.lists(LETTERS, max_size=12).map("".join)
PIECES = st.lists(LETTERS, min_size=1, max_size=4).map("".join)
LONG = st.lists(st.sampled_from(["alpha", "beta", "gammadelta", "x", "東京", "foo_bar"]), min_size=60, max_size=120)


def found(index: Index, *patterns: str, **options: object) -> list[tuple[str, int]]:
    own = {name: options.pop(name) for name in tuple(options) if name in GrepRequest._fields}
    request = GrepRequest(PatternOptions(patterns, **options), **own)  # type: ignore[arg-type]
    with index.docstore.snapshot() as snapshot:
        return [
            (str(file.path).removeprefix(f"{index.root}/"), line.number)
            for file in grep(snapshot, request).files
            for line in file.lines
        ]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("texts")
    index = Index(root=root, data_dir=tmp_path_factory.mktemp("data"), embedding=EmbeddingMode.OFF)
    yield index
    index.close()


@settings(max_examples=12, deadline=None, suppress_health_check=[*HealthCheck])
@given(st.lists(LINES, min_size=1, max_size=8), LONG, st.lists(PIECES, min_size=6, max_size=6))
def test_the_lines_found_are_those_that_have_the_text(
    texts: Index, lines: list[str], words: list[str], literals: list[str]
) -> None:
    # A line that fills several chunks, cut between words and within them, among short ones.
    lines = [*lines, " ".join(words), "".join(words), *lines[:2]]
    texts.write("a.txt", "\n".join(["begin", *lines]) + "\n")
    texts.run()
    for text in (*literals, lines[0][1:4] or "x", " ".join(words[20:23]), "".join(words[30:32])[2:]):
        expected = [("a.txt", number) for number, line in enumerate(lines, 2) if text in line]
        assert [one for one in found(texts, text, are_texts=True) if one[1] > 1] == expected
        ignoring = {("a.txt", n) for n, line in enumerate(lines, 2) if re.search(re.escape(text), line, re.IGNORECASE)}
        assert ignoring <= set(found(texts, text, are_texts=True, ignore_case=True))


REGEXES = (
    "fo+_bar",
    "^def ",
    r"\w+\(x",
    "(foo|bar)baz",
    "a.c",
    r"\bfoo\b",
    "[fb]oo",
    "^$",
    "x?foo",
    r"\d{2,}$",
    "über",
)


@pytest.mark.parametrize("pattern", REGEXES)
def test_a_regular_expression_finds_what_a_look_at_every_line_finds(
    indexed: Callable[[Mapping[str, str]], Index], pattern: str
) -> None:
    lines = ["def foo(x):", "", "fooo_bar = 14", "barbaz foobaz", "abc a\tc", "xfoo", "boo", "überall", "in 2014"]
    index = indexed({"a.py": "\n".join(lines) + "\n"})
    expected = [("a.py", number) for number, line in enumerate(lines, 1) if re.search(pattern, line)]
    assert expected
    assert found(index, pattern) == expected


def test_words_and_whole_lines_are_told_from_parts_of_them(index: Index) -> None:
    index.write("a.txt", "foo\nfoobar\na foo b\nüfoo\nfoo_\nFoo\n")
    index.run()
    assert [number for _, number in found(index, "foo", are_words=True)] == [1, 3]
    assert [number for _, number in found(index, "foo", are_lines=True)] == [1]
    assert [number for _, number in found(index, "foo", are_words=True, ignore_case=True)] == [1, 3, 6]
    assert [number for _, number in found(index, "Foo", smart_case=True)] == [6]
    assert [number for _, number in found(index, "foo", smart_case=True)] == [1, 2, 3, 4, 5, 6]


def test_lines_that_do_not_match_are_all_the_others(index: Index) -> None:
    index.write("a.txt", "one\ntwo\n\nthree\n")
    index.write("b.txt", "two\n")
    index.run()
    assert found(index, "two", invert=True) == [("a.txt", 1), ("a.txt", 3), ("a.txt", 4)]


def test_lines_around_are_shown_once(index: Index) -> None:
    index.write("a.txt", "".join(f"line {n}\n" for n in range(1, 400)))
    index.run()
    assert [number for _, number in found(index, "line (200|202)$", before=1, after=2)] == [
        199,
        200,
        201,
        202,
        203,
        204,
    ]


def test_a_file_gives_no_more_lines_than_are_wanted(index: Index) -> None:
    index.write("a.txt", "foo\n" * 5)
    index.write("b.txt", "foo\n")
    index.run()
    assert found(index, "foo", max_count=2) == [("a.txt", 1), ("a.txt", 2), ("b.txt", 1)]


def test_only_the_files_in_scope_are_looked_into(index: Index) -> None:
    index.write("src/a.py", "foo\n")
    index.write("src/b.md", "foo\n")
    index.write("doc/c.md", "foo\n")
    index.run()
    src = FilePath(str(index.root / "src"))
    assert found(index, "foo", scope=(src,)) == [("src/a.py", 1), ("src/b.md", 1)]
    assert found(index, "foo", kinds=("markdown",)) == [("doc/c.md", 1), ("src/b.md", 1)]
    assert found(index, "foo", globs=("!doc/",)) == [("src/a.py", 1), ("src/b.md", 1)]
    assert found(index, "foo", globs=("*.md", "!doc/")) == [("src/b.md", 1)]


def test_a_secret_is_not_found(index: Index) -> None:
    index.write("a.py", 'AWS_SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYq8zTkAb3Lw"\nother = 1\n')
    index.run()
    assert found(index, "wJalrXUtnFEMI") == []
    assert found(index, "AWS_SECRET") == [("a.py", 1)]


def test_files_without_a_match_are_the_others_of_the_scope(index: Index) -> None:
    index.write("a.txt", "foo\n")
    index.write("b.txt", "bar\n")
    index.run()
    request = GrepRequest(PatternOptions(("foo",)))
    with index.docstore.snapshot() as snapshot:
        paths = [one.path for one in files_without_match(snapshot, request, grep(snapshot, request))]
    assert paths == [str(index.root / "b.txt")]


@pytest.mark.parametrize("pattern", ["(", r"(?=x)", r"\1", "a\nb", "x{2000}"])
def test_what_is_no_pattern_is_refused(index: Index, pattern: str) -> None:
    index.write("a.txt", "foo\n")
    index.run()
    with pytest.raises(UsageError):
        found(index, pattern)


def test_what_is_not_indexed_is_not_answered_with_nothing(index: Index, tmp_path: Path) -> None:
    with pytest.raises(NotIndexedError):
        found(index, "foo")
    index.write("a.txt", "foo\n")
    index.run()
    with pytest.raises(NotIndexedError):
        found(index, "foo", scope=(FilePath(str(tmp_path / "elsewhere")),))


def test_a_pattern_that_is_slow_elsewhere_takes_linear_time(index: Index) -> None:
    index.write("a.txt", "a" * 50_000 + "\n")
    index.run()
    assert found(index, "(a*)*(a|aa)+b") == []


def test_reading_everything_is_said_where_it_takes_long(index: Index) -> None:
    index.write("a.txt", "foo\n")
    index.run()
    request = GrepRequest(PatternOptions(("f.*",)))
    with index.docstore.snapshot() as snapshot:
        answer = grep(snapshot, request)
        (note,) = grep_warnings(snapshot, request, answer, has_any=True, seconds=2.0)
        assert "all texts were read" in note
        assert grep_warnings(snapshot, request, answer, has_any=True, seconds=0.1) == ()


def test_only_chunks_with_the_words_are_read(index: Index) -> None:
    for number in range(200):
        index.write(f"{number}.txt", f"the number of this file is n{number}n and it says so\n")
    index.run()
    request = GrepRequest(PatternOptions(("file is n77n and",)))
    with index.docstore.snapshot() as snapshot:
        answer = grep(snapshot, request)
        assert answer.uses_index
        assert [one.path for one in answer.files] == [str(index.root / "77.txt")]


def test_a_search_ranks_only_passages_of_which_a_line_matches(index: Index) -> None:
    index.write("a.md", "The keys are rotated every spring.\n")
    index.write("b.md", "The keys are rotated every autumn.\n")
    index.run()
    assert sorted(index.names("when are keys rotated")) == ["a.md", "b.md"]
    assert index.names("when are keys rotated", grep="aut[u]mn") == ["b.md"]
    assert index.names("when are keys rotated", grep="winter") == []
    with pytest.raises(UsageError):
        index.names("keys", grep="(")


def test_a_hit_points_at_the_definition_that_is_named(index: Index) -> None:
    body = "".join(f"def handler_{n}(request):\n    return reply(request, {n})\n\n\n" for n in range(30))
    index.write("a.py", f"{body}handlers = [handler_14, handler_15, handler_14]\n")
    index.run()
    best = index.search("handler_14", mode=SearchMode.KEYWORD)[0]
    assert best.excerpt.line == 14 * 4 + 1
    assert "def handler_14(" in best.excerpt.text


def test_few_hits_are_given_with_their_whole_function(index: Index) -> None:
    body = "".join(f"    step_{n} = prepare({n}, step_{n - 1}, what='water')\n" for n in range(1, 40))
    text = f"def one():\n    pass\n\n\ndef boil(step_0):\n{body}    return step_39\n\n\ndef two():\n    pass\n"
    index.write("a.py", text)
    index.run()
    hit = index.search("step_20", mode=SearchMode.KEYWORD, limit=1)[0]
    assert "def boil" not in hit.text or "return step_39" not in hit.text
    with index.docstore.snapshot() as snapshot:
        (whole,) = expand_to_sections(snapshot, [hit])
        assert expand_to_sections(snapshot, [hit] * 4) == (hit,) * 4
    assert "def boil(step_0):" in whole.text
    assert "return step_39" in whole.text
    assert text.split("\n")[whole.start_line - 1 : whole.end_line] == whole.text.removesuffix("\n").split("\n")


def test_more_lines_around_than_there_are_cost_nothing(texts: Index) -> None:
    texts.write("around.txt", "one\nneedle\nthree\nneedle\nfive\n")
    texts.run()
    most = 10**12
    assert [line for _, line in found(texts, "needle", before=most, after=most)] == [1, 2, 3, 4, 5]
    assert [line for _, line in found(texts, "needle", before=1)] == [1, 2, 3, 4]
    assert [line for _, line in found(texts, "needle", after=1)] == [2, 3, 4, 5]


@pytest.mark.parametrize("pattern", ["\udcff", "a\ud800"])
@pytest.mark.parametrize("are_texts", [True, False])
def test_a_pattern_that_is_no_text_is_refused(pattern: str, *, are_texts: bool) -> None:
    with pytest.raises(UsageError, match="bytes that are not text"):
        LinePattern(PatternOptions((pattern,), are_texts=are_texts))


def test_a_pattern_that_cuts_characters_apart_is_refused() -> None:
    with pytest.raises(UsageError, match="single byte"):
        LinePattern(PatternOptions((r"a\C",)))
    assert LinePattern(PatternOptions((r"a\\C",))).first(rb"xa\C") == (1, 4)


def test_no_more_matches_of_a_line_are_looked_for_than_are_told(texts: Index) -> None:
    texts.write("marks.txt", "mark mark mark\n")
    texts.run()
    with texts.docstore.snapshot() as snapshot:
        for most, expected in ((None, 3), (2, 2), (0, 0)):
            [file] = grep(snapshot, GrepRequest(PatternOptions(("mark",)), max_spans=most)).files
            assert [len(line.spans) for line in file.lines] == [expected]
