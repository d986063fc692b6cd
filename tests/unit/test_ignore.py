from __future__ import annotations

import pytest

from directory_indexer.walk.gitignore import parse_patterns
from directory_indexer.walk.ignore import Precedence, Rules, built_in_rules
from directory_indexer.walk.rule_layer import layer_of

NOTHING = built_in_rules(include_secrets=True, include_hidden=True)


def _adding(rules: Rules, precedence: Precedence, *patterns: str) -> Rules:
    return rules.adding(precedence, layer_of(parse_patterns(patterns, source=precedence.name.lower()).rules))


def _is_ignored(rules: Rules, name: str, *, is_directory: bool = False) -> bool:
    decision = rules.decide(name, is_directory=is_directory)
    return decision is not None and decision.is_ignored


def test_a_rule_is_asked_before_all_those_of_a_higher_number() -> None:
    sources = [precedence for precedence in Precedence if precedence > Precedence.GIT_DIRECTORY]
    for stronger in sources:
        for weaker in sources:
            if stronger < weaker:
                rules = _adding(_adding(NOTHING, stronger, "!x"), weaker, "x")
                assert not _is_ignored(rules, "x"), (stronger, weaker)
                rules = _adding(_adding(NOTHING, weaker, "!x"), stronger, "x")
                assert _is_ignored(rules, "x"), (stronger, weaker)


def test_of_nested_ignore_files_the_inner_one_decides() -> None:
    outer = _adding(NOTHING, Precedence.GITIGNORE, "*.log", "*.tmp")
    inner = _adding(outer.enter("sub"), Precedence.GITIGNORE, "!keep.*")

    assert _is_ignored(outer, "keep.log")
    assert not _is_ignored(inner, "keep.log")
    assert _is_ignored(inner, "other.tmp")


def test_a_decision_names_the_rule() -> None:
    rules = _adding(NOTHING, Precedence.CONFIGURED, "node_modules")
    decision = rules.decide("node_modules", is_directory=True)

    assert decision
    assert (decision.rule, decision.precedence) == ("configured: node_modules", Precedence.CONFIGURED)


@pytest.mark.parametrize("is_directory", [True, False])
def test_nothing_brings_back_what_belongs_to_git(is_directory: bool) -> None:  # noqa: FBT001 - a parameter of the test
    rules = _adding(NOTHING, Precedence.DIRINDEXIGNORE, "!.git")

    assert _is_ignored(rules, ".git", is_directory=is_directory)
    assert not _is_ignored(rules, ".github", is_directory=is_directory)


def test_nothing_brings_back_a_secret() -> None:
    rules = _adding(built_in_rules(include_secrets=False, include_hidden=True), Precedence.DIRINDEXIGNORE, "!*")

    assert _is_ignored(rules, "id_rsa")
    assert not _is_ignored(rules, "plain")


def test_the_user_may_bring_back_hidden_names_and_git_may_not() -> None:
    rules = built_in_rules(include_secrets=True, include_hidden=False)

    assert _is_ignored(rules, ".github", is_directory=True)
    assert _is_ignored(_adding(rules, Precedence.GITIGNORE, "!.github"), ".github", is_directory=True)
    assert not _is_ignored(_adding(rules, Precedence.DIRINDEXIGNORE, "!.github"), ".github", is_directory=True)
    assert not _is_ignored(_adding(rules, Precedence.CONFIGURED, "!.github"), ".github", is_directory=True)


def test_a_repository_leaves_the_rules_of_git_around_it_behind() -> None:
    rules = _adding(NOTHING, Precedence.CONFIGURED, "configured")
    for precedence in (Precedence.GITIGNORE, Precedence.GIT_EXCLUDE, Precedence.USER_IGNORE):
        rules = _adding(rules, precedence, precedence.name)
    inner = rules.enter("repository").at_repository(ignore_case=True)

    assert inner.ignore_case
    assert [name for name in ("configured", "GITIGNORE", "GIT_EXCLUDE", "USER_IGNORE") if _is_ignored(inner, name)] == [
        "configured"
    ]


def test_only_entries_that_a_rule_may_leave_out_are_concerned() -> None:
    rules = _adding(NOTHING, Precedence.GITIGNORE, "*.log", "!keep.md", "sub/*.txt")

    names = ["a.log", "keep.md", "a.txt", "é"]

    assert rules.concerned(names) == {"a.log", "é"}
    assert rules.enter("sub").concerned(names) == {"a.log", "a.txt", "é"}


def test_directories_in_which_no_rule_changes_share_their_rules() -> None:
    rules = _adding(NOTHING, Precedence.GITIGNORE, "*.log", "/build", "docs/out/")
    below = rules.enter("src")

    assert rules.enter("lib") is below
    assert below.enter("deeper") is below
    assert rules.enter("docs") is not below
