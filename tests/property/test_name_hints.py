from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.gitignore import parse_patterns
from directory_indexer.name_hints import hints_of, quick_test
from directory_indexer.rule_layer import layer_of

_PIECES = ["a", "B", ".", "*", "?", "[ab]", "[!a]", "[A-C]", ".log", "é", "-"]
_patterns = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
_names = st.text("aAbBcC.-logé", min_size=1, max_size=8)


@given(patterns=st.lists(_patterns, min_size=1, max_size=4), name=_names)
def test_a_name_that_matches_a_glob_always_has_a_hint(patterns: list[str], name: str) -> None:
    globs = [rule.name_glob for rule in parse_patterns(patterns, source="t").rules]
    matches = any(re.compile(glob.regex, re.DOTALL).fullmatch(name) for glob in globs if glob)

    assert quick_test(hints_of(globs))(name) or not matches


@given(patterns=st.lists(_patterns, min_size=1, max_size=4), name=_names)
def test_a_name_that_matches_without_case_has_a_hint_too(patterns: list[str], name: str) -> None:
    layer = layer_of(parse_patterns(patterns, source="t").rules, ignore_case=True)
    rule = layer.deciding_rule(name, is_directory=True)

    assert quick_test(layer.hints)(name) or not rule


def test_hints_tell_most_names_apart_without_a_regex() -> None:
    patterns = ["build", "[Bb]in", "*.py[cod]", "*~", "*.tar.gz", "log*", ".*.sw[op]"]
    hints = hints_of(rule.name_glob for rule in parse_patterns(patterns, source="t").rules)
    has_hint = quick_test(hints)

    assert not hints.regexes
    assert [name for name in ("BUILD", "bin", "x.pyc", "x~", "x.tar.gz", "log1", ".x.swp") if not has_hint(name)] == []
    assert not has_hint("readme.md")
