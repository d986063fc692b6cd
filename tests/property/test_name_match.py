"""A name that a query may mean: whatever files are called and whatever is typed, the two can be compared."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from directory_indexer.ranking.name_match import NameMatch, name_match, typed_names
from directory_indexer.ranking.query import parse_query

_SIGNS = "—….。«»¿_-'\u0301\u202e☃\ud800"
_NAMES = st.one_of(st.text(_SIGNS, min_size=1, max_size=6), st.text(min_size=1, max_size=12))


@given(name=_NAMES, query=st.one_of(_NAMES, st.just("larch")), is_directory=st.booleans(), is_prefix=st.booleans())
@example(name="—.—", query="larch", is_directory=False, is_prefix=False)
def test_any_name_can_be_compared_with_any_query(*, name: str, query: str, is_directory: bool, is_prefix: bool) -> None:
    for typed in typed_names(parse_query(query)):
        assert typed.words
        typed = typed._replace(is_prefix=is_prefix, unknown=frozenset(typed.words))  # noqa: PLW2901

        match = name_match(typed, name, is_directory=is_directory)

        assert match is None or match in NameMatch


@given(name=_NAMES)
def test_a_name_that_is_typed_whole_is_found(name: str) -> None:
    for typed in typed_names(parse_query(f'"{name}"'))[:1]:
        if typed.text != name.casefold():
            return
        assert name_match(typed, name) is NameMatch.WHOLE
