from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.walk.gitignore import make_name_finder, name_hints_of, parse_patterns
from directory_indexer.walk.rule_layer import layer_of

_PIECES = ["a", "B", ".", "*", "?", "[ab]", "[!a]", "[A-C]", ".log", "é", "-"]
_patterns = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
_names = st.text("aAbBcC.-logé", min_size=1, max_size=8)


@given(patterns=st.lists(_patterns, min_size=1, max_size=4), name=_names)
def test_a_name_that_matches_a_glob_always_has_a_hint(patterns: list[str], name: str) -> None:
    globs = [rule.name_glob for rule in parse_patterns(patterns, source="t").rules]
    matches = any(re.compile(glob.regex, re.DOTALL).fullmatch(name) for glob in globs if glob)

    assert name in make_name_finder(name_hints_of(globs))(["other", name]) or not matches


@given(patterns=st.lists(_patterns, min_size=1, max_size=4), name=_names)
def test_a_name_that_matches_without_case_has_a_hint_too(patterns: list[str], name: str) -> None:
    layer = layer_of(parse_patterns(patterns, source="t").rules, ignore_case=True)
    rule = layer.deciding_rule(name, is_directory=True)

    assert name in make_name_finder(layer.hints)([name, "other"]) or not rule


def test_hints_tell_names_apart_by_any_known_part() -> None:
    patterns = ["build", "[Bb]in", "*.py[cod]", "*~", "*.tar.gz", "log*", ".*.sw[op]", "*.o.*"]
    hints = name_hints_of(rule.name_glob for rule in parse_patterns(patterns, source="t").rules)
    having = ["BUILD", "bin", "x.pyc", "x~", "x.tar.gz", "log1", ".x.swp", "x.o.y", "ü"]

    assert make_name_finder(hints)([*having, "readme.md", "build.py", "x.gz"]) == set(having)


def test_many_names_are_searched_piece_by_piece() -> None:
    names = [f"{number}.{'log' if number % 10_000 == 0 else 'txt'}" for number in range(50_001)]
    find = make_name_finder(name_hints_of(rule.name_glob for rule in parse_patterns(["*.log"], source="t").rules))

    assert find(names) == {f"{number}.log" for number in range(0, 50_001, 10_000)}
    assert find([]) == set()
