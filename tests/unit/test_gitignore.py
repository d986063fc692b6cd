from __future__ import annotations

import re

import pytest

from directory_indexer.walk.gitignore import MAX_COST, MAX_PATTERN_BYTES, byte_text, parse_patterns, parse_rules
from directory_indexer.walk.rule_layer import layer_of


def _matches(pattern: str, path: str) -> bool:
    """Follow a path through a layer of one pattern; a path that ends with a slash is a directory."""
    *directories, name = path.removesuffix("/").split("/")
    layer = layer_of(parse_patterns([pattern], source="test").rules)
    for directory in directories:
        layer = layer.enter(byte_text(directory))
    return layer.deciding_rule(byte_text(name), is_directory=path.endswith("/")) is not None


def _labels(content: bytes) -> list[str]:
    return [rule.label for rule in parse_rules(content, source=".gitignore").rules]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.log", "a.log"),
        ("*.log", "deep/down/.log"),
        ("build/", "sub/build/"),
        ("/top", "top"),
        ("docs/*.txt", "docs/a.txt"),
        ("**/end", "end"),
        ("**/end", "a/b/end"),
        ("start/**", "start/a"),
        ("start/**", "start/a/b"),
        ("a/**/z", "a/z"),
        ("a/**/z", "a/b/c/z"),
        ("a/**/b/**/c", "a/x/b/b/y/c"),
        ("a/***/z", "a/b/z"),
        ("a**z", "abcz"),
        ("x/a**z", "x/abcz"),
        ("[a-c]?", "bx"),
        ("[a-c]", "a"),
        ("[a-c]", "c"),
        ("[!a-c]", "d"),
        ("[^a-c]", "d"),
        ("[]]", "]"),
        ("[]-a]", "^"),
        ("[a-]", "-"),
        ("[[:digit:]x]", "7"),
        ("[[:cntrl:]]", "\x01"),
        ("[[:cntrl:]]", "\x7f"),
        (r"\*", "*"),
        (r"\#note", "#note"),
        (r"\!wow", "!wow"),
        (r"a\ ", "a "),
        ("é*", "étude"),
        ("a[/x]b", "axb"),
        ("*a*b*c", "xxaxxbxbcabc"),
        ("new?line", "new\nline"),
    ],
)
def test_a_pattern_matches(pattern: str, path: str) -> None:
    assert _matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.log", "a.logs"),
        ("build/", "build"),
        ("/top", "sub/top"),
        ("/top/", "top"),
        ("docs/**/", "docs/a"),
        ("docs/*.txt", "sub/docs/a.txt"),
        ("docs/*.txt", "docs/sub/a.txt"),
        ("start/**", "start/"),
        ("a/**/z", "az"),
        ("a/**/z", "b/a/z"),
        ("x/a**z", "x/ab/cz"),
        ("?", "é"),
        ("[!a-c]", "b"),
        ("[z-a]", "b"),
        ("a[/]b", "a/b"),
        ("foo//", "foo/"),
        ("/", "a"),
        ("*a*b*c", "abcx"),
        ("Name", "name"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not _matches(pattern, path)


def test_a_rule_is_labelled_with_its_file_line_and_text() -> None:
    assert _labels(b"# note\n\n*.log  \n!keep.log\n") == [".gitignore:3: *.log", ".gitignore:4: !keep.log"]


def test_line_ends_of_windows_and_the_mark_at_the_start_do_not_count() -> None:
    assert _labels(b"\xef\xbb\xbf*.a\r\n*.b\r") == [".gitignore:1: *.a", ".gitignore:2: *.b"]


def test_a_long_line_is_shown_in_part() -> None:
    [label] = _labels(b"x" * 500)

    assert len(label) < 100


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("[abc", "bracket"),
        ("x/[a/b", "bracket"),
        ("[[:foo:]]", "class"),
        ("[z-a]", "no character"),
        ("a\\", "backslash"),
        ("x" * (MAX_PATTERN_BYTES + 1), "longer"),
    ],
)
def test_a_pattern_that_can_never_match_is_told(pattern: str, words: str) -> None:
    parsed = parse_rules(pattern.encode(), source=".gitignore")

    assert not parsed.rules
    assert re.match(rf"\.gitignore:1: .*{words}", parsed.problems[0])


def test_a_file_in_utf_16_is_told() -> None:
    parsed = parse_rules("*.log".encode("utf-16"), source=".gitignore")

    assert parsed == ((), (".gitignore: is UTF-16, but git reads ignore files as UTF-8",))


def test_there_is_a_limit_to_paths_and_wildcards_but_none_to_plain_names() -> None:
    n_lines = MAX_COST // 8
    plain, path, wild = (
        parse_rules(line * n_lines, source="f") for line in (b"long-name\n", b"/long-path\n", b"*long*\n")
    )

    assert (len(plain.rules), len(plain.problems)) == (n_lines, 0)
    assert (len(path.rules), len(path.problems)) == (MAX_COST // 10, 1)
    assert (len(wild.rules), len(wild.problems)) == (MAX_COST // 24, 1)


@pytest.mark.parametrize(
    "pattern", ["*a" * 400 + "b", "*" * 900 + "b", "a/" + "**/a/" * 150 + "b", "[ab]*" * 150 + "c"]
)
def test_a_hostile_pattern_is_decided_at_once(pattern: str) -> None:
    # With backtracking the first of these takes longer than anybody has.
    path = "/".join(["a" * 250] * 4 if "/" not in pattern else ["a"] * 1000)

    assert not _matches(pattern, path)


def test_of_several_rules_the_last_decides_whatever_its_kind() -> None:
    rules = parse_rules(b"keep\n!*p\nsub/k*\n!/sub/keep\nk[e]ep\n", source="f").rules

    def deciding(n_rules: int) -> str:
        rule = layer_of(rules[:n_rules]).enter("sub").deciding_rule("keep", is_directory=False)
        return rule.label if rule else ""

    assert [deciding(n) for n in range(1, 6)] == [
        "f:1: keep",
        "f:2: !*p",
        "f:3: sub/k*",
        "f:4: !/sub/keep",
        "f:5: k[e]ep",
    ]


def test_case_is_ignored_on_demand() -> None:
    layer = layer_of(parse_patterns(["*.LOG", "Docs/[A-C].md", "[!x]y"], source="t").rules, ignore_case=True)

    assert layer.deciding_rule("a.Log", is_directory=False)
    assert layer.enter("dOCS").deciding_rule("b.MD", is_directory=False)
    assert layer.deciding_rule("AY", is_directory=False)
    assert not layer.deciding_rule("\xc3\xa9", is_directory=False)


def test_a_directory_that_changes_nothing_shares_the_layer_of_its_parent() -> None:
    layer = layer_of(parse_patterns(["*.log", "**/a/b"], source="t").rules)
    anchored = layer_of(parse_patterns(["/build", "docs/x"], source="t").rules)

    assert layer.elsewhere is layer
    assert layer.enter("a") is not layer
    assert anchored.elsewhere is anchored.elsewhere.elsewhere
