"""Queries with OR and parentheses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.ranking.query import parse_query
from directory_indexer.ranking.query_syntax import has_role, split_alternatives


@pytest.mark.parametrize(
    ("query", "rest", "groups"),
    [
        ("a b", "a b", ()),
        ("a OR b", "", (("a", "b"),)),
        ("x a OR b", "x", (("a", "b"),)),
        ('"a b" OR "c d" x', "x", (('"a b"', '"c d"'),)),
        ("(a b) OR c", "", (("a b", "c"),)),
        ("x (a OR (b c)) y", "x y", (("a", "b c"),)),
        ("((a OR b) c) OR d", "", (("a c", "b c", "d"),)),
        ("x -(a OR b)", "x -a -b", ()),
        ("(path:x OR path:y) k", "k", (("path:x", "path:y"),)),
        ("call(a) OR b", "", (("call(a)", "b"),)),
        ("OR a", "OR a", ()),
        ("a OR", "a OR", ()),
        ('"a OR b"', '"a OR b"', ()),
        ("f(a) g()", "f(a) g()", ()),
        ("WITHOUT WARRANTIES OR CONDITIONS", "WITHOUT WARRANTIES OR CONDITIONS", ()),
        ("MAX_SIZE OR MIN_SIZE", "", (("MAX_SIZE", "MIN_SIZE"),)),
        ("AWS OR GCP BILLING", "BILLING", (("AWS", "GCP"),)),
        ("2023 OR 2024 12", "12", (("2023", "2024"),)),
        ("北京 OR 上海 旅行", "旅行", (("北京", "上海"),)),
        ("ERROR OR WARNING -TRACE", "-TRACE", (("ERROR", "WARNING"),)),
    ],
)
def test_or_binds_what_stands_beside_it(query: str, rest: str, groups: tuple[tuple[str, ...], ...]) -> None:
    assert split_alternatives(query) == (rest, groups)


@given(st.lists(st.sampled_from(["OR", "(", ")", "-(", '"', "a", "b c", "path:x", " "]), max_size=60))
def test_no_query_is_wrong(parts: list[str]) -> None:
    query = parse_query(" ".join(parts))
    assert len(query.alternatives) <= 60


@pytest.mark.parametrize("n", [10, 300])
def test_many_alternatives_take_no_long(n: int) -> None:
    query = parse_query(" ".join(["(a OR b)"] * n) + " " + "(" * n + "x OR y" + ")" * n)
    assert query.words


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("tests/unit/a.py", "test"),
        ("src/test_a.py", "test"),
        ("web/a.spec.ts", "test"),
        ("pkg/a_test.go", "test"),
        ("src/FooTest.java", "test"),
        ("web/dist/app.js", "generated"),
        ("package-lock.json", "generated"),
        ("api/a_pb2.py", "generated"),
        ("web/app.min.js", "generated"),
    ],
)
def test_the_path_says_what_a_file_is_for(path: str, role: str) -> None:
    assert has_role(path, role)


@pytest.mark.parametrize("path", ["src/latest.py", "contest/a.py", "docs/testing-tools.md", "src/attest.go", "mind.js"])
def test_other_paths_say_nothing(path: str) -> None:
    assert not has_role(path, "test")
    assert not has_role(path, "generated")
