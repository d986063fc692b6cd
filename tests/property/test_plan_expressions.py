"""Whatever is typed, SQLite accepts every expression of the plan that is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from indexes import Index

from directory_indexer.ranking.plan import plan_match
from directory_indexer.ranking.query import parse_query

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECES = (
    "larch",
    "foo",
    "the",
    "zzq",
    "*zzq",
    "f*o",
    "lar*",
    "*dge",
    "a**b",
    "*",
    '"the larch"',
    '"zz q"',
    '"',
    "-foo",
)
OTHERS = (
    "-*zz",
    '-"x y"',
    "OR",
    "(",
    ")",
    "C++",
    "#5",
    "fooBar",
    "東京",
    "王*",
    "Müller",
    "1.2.3",
    "heading:foo",
    "path:a",
)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("notes")
    index = Index(place / "docs", place / "data")
    index.write("larch.md", "# Foo\n\nThe larch of the ridge, foo, 東京 #5 fooBar C++ Mueller 1.2.3.\n")
    index.run()
    yield index
    index.close()


@given(query=st.lists(st.sampled_from(PIECES + OTHERS), min_size=1, max_size=6).map(" ".join))
@example(query="*zzq foo")
@example(query="foo*bar larch")
def test_every_expression_of_a_plan_is_valid(notes: Index, query: str) -> None:
    with notes.docstore.snapshot() as snapshot:
        plan = plan_match(parse_query(query), snapshot.words)
        single = (plan.expression, plan.narrow, plan.rare, plan.together, plan.named)
        for expression in filter(None, (*single, *plan.exact, *plan.required, *plan.forbidden)):
            assert snapshot.words.count(expression) >= 0
