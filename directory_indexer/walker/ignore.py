"""Rules that exclude files from the index.

The rules in force in a directory, by precedence. The first source with a matching rule decides; within a source the
last matching line does, and of ignore files in nested directories the innermost comes first:

1. secrets by name, unless they are requested; nothing re-includes them
2. `.git`, always
3. `.dirindexignore`: its `!` re-includes what any rule below excludes
4. `ignore_patterns` of the configuration; `!` likewise
5. hidden names, which start with a dot, unless they are requested
6. `.gitignore`
7. `.git/info/exclude`
8. the user's own ignore file for all repositories

An excluded directory is not entered, so nothing in it can be re-included. Rules 6 and 7 end at the border of a nested
git repository, as they do for git. Outside any repository, `.gitignore` applies from the indexed directory on. Whether
git tracks a file is not considered.

Matching is case-sensitive, except for secrets, and for the ignore files of a repository that has `core.ignoreCase` set,
as those on Windows and macOS have.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache, cached_property
from typing import NamedTuple

from directory_indexer.walker.gitignore import byte_text, parse_patterns
from directory_indexer.walker.name_hints import finder_of, merged
from directory_indexer.walker.policy import WalkPolicy
from directory_indexer.walker.rule_layer import Layer, layer_of
from directory_indexer.walker.secret_files import LIKELY_NAMES, SECRET_NAMES, name_of_original


class Precedence(IntEnum):
    """Sources of rules; the lowest number with a matching rule decides."""

    SECRET = 1
    GIT_DIRECTORY = 2
    DIRINDEXIGNORE = 3
    CONFIGURED = 4
    HIDDEN = 5
    GITIGNORE = 6
    GIT_EXCLUDE = 7
    USER_IGNORE = 8


class Decision(NamedTuple):
    """Whether an entry is ignored, and the rule that decided."""

    is_ignored: bool
    rule: str
    precedence: Precedence


class Rules:
    """The rules in force in one directory."""

    def __init__(self, sources: Sequence[tuple[Precedence, Layer]], *, ignore_case: bool = False) -> None:
        self.ignore_case = ignore_case
        self._sources = sources

    def adding(self, precedence: Precedence, layer: Layer) -> Rules:
        """Return rules with a source that starts in this directory, before outer ones of the same precedence."""
        sources = sorted([(precedence, layer), *self._sources], key=lambda source: source[0])
        return Rules(sources, ignore_case=self.ignore_case)

    def at_repository(self, *, ignore_case: bool) -> Rules:
        """Return rules without those that git takes from outside a repository, which starts in this directory."""
        sources = [source for source in self._sources if source[0] < Precedence.GITIGNORE]
        return Rules(sources, ignore_case=ignore_case)

    def enter(self, directory_name: str) -> Rules:
        """Return the rules in a sub-directory, before its own are added."""
        [rules] = self.enter_each([directory_name])
        return rules

    def enter_each(self, directory_names: Sequence[str]) -> list[Rules]:
        """Return the rules in each of some sub-directories; most share them."""
        leading_on = self._leading_on(directory_names)
        return [self._entered(name) if name in leading_on else self._elsewhere for name in directory_names]

    def decide(self, entry_name: str, *, is_directory: bool) -> Decision | None:
        """Return the decision about an entry, or None if no rule matches."""
        name = byte_text(entry_name)
        for precedence, layer in self._sources:
            rule = layer.deciding_rule(name, is_directory=is_directory)
            if precedence == Precedence.SECRET and (rule is None or rule.is_negated):
                rule = layer.deciding_rule(byte_text(name_of_original(entry_name)), is_directory=is_directory)
            if rule is None:
                continue
            if precedence != Precedence.SECRET:
                return Decision(not rule.is_negated, rule.label, precedence)
            if not rule.is_negated and rule.only_directories == is_directory:
                return Decision(is_ignored=True, rule=rule.label, precedence=precedence)
        return None

    def decide_path(self, names: Sequence[str], *, is_directory: bool) -> Decision | None:
        """Return the decision that excludes a nested entry, given the names on the way, or a directory around it."""
        rules = self
        for name in names[:-1]:
            decision = rules.decide(name, is_directory=True)
            if decision and decision.is_ignored:
                return decision
            rules = rules.enter(name)
        return rules.decide(names[-1], is_directory=is_directory) if names else None

    @cached_property
    def concerned(self) -> Callable[[Sequence[str]], set[str]]:
        """A fast search for entries that a rule may exclude; all others are included."""
        find = finder_of(merged(layer.hints for _, layer in self._sources))
        if not self._sources or self._sources[0][0] != Precedence.SECRET:
            return find

        def find_with_copies(names: Sequence[str]) -> set[str]:
            originals = {name: original for name in names if (original := name_of_original(name)) != name}
            matches = find([*originals.values()]) if originals else set()
            return find(names) | {name for name, original in originals.items() if original in matches}

        return find_with_copies

    @cached_property
    def _leading_on(self) -> Callable[[Sequence[str]], set[str]]:
        return finder_of(merged(layer.descent_hints for _, layer in self._sources))

    def _entered(self, directory_name: str) -> Rules:
        name = byte_text(directory_name)
        return self._with(layer.enter(name) for _, layer in self._sources)

    @cached_property
    def _elsewhere(self) -> Rules:
        return self._with(layer.elsewhere for _, layer in self._sources)

    def _with(self, layers: Iterable[Layer]) -> Rules:
        sources = [(precedence, layer) for (precedence, _), layer in zip(self._sources, layers, strict=True)]
        return self if sources == self._sources else Rules(sources, ignore_case=self.ignore_case)


@cache
def built_in_rules(*, include_secrets: bool, include_hidden: bool) -> Rules:
    """Return the rules that need no file, at the root of the file system."""
    layers = [(Precedence.GIT_DIRECTORY, _layer((".git",), source="git"))]
    if not include_secrets:
        layers.append((Precedence.SECRET, _secret_layer(SECRET_NAMES)))
    if not include_hidden:
        layers.append((Precedence.HIDDEN, _layer((".*",), source="hidden")))
    return Rules(sorted(layers, key=lambda source: source[0]))


def likely_secret(path: str) -> str | None:
    """Return the kind of secret that a path suggests, unless the content is harmless."""
    name = os.path.basename(path).lower()
    if not any(map(_likely_name().match, (name, name_of_original(name)))):
        return None
    names = [name for name in path.split(os.sep) if name]
    decision = _likely_rules().decide_path(names, is_directory=False)
    return kind_of_secret(decision)


def kind_of_secret(decision: Decision | None) -> str | None:
    """Return the kind of secret by whose name a file is excluded; None if no rule of secrets does."""
    if decision is None or not decision.is_ignored or decision.precedence != Precedence.SECRET:
        return None
    return decision.rule.removeprefix("secret: ")


@cache
def _likely_name() -> re.Pattern[str]:
    """Return a pattern of all such names without directories: evaluating the rules takes a thousand times as long."""
    names = {pattern.rpartition("/")[2].lower() for patterns in LIKELY_NAMES.values() for pattern in patterns}
    return re.compile("|".join(fnmatch.translate(name) for name in sorted(names) if not name.startswith("!")))


@cache
def _likely_rules() -> Rules:
    return Rules([(Precedence.SECRET, _secret_layer(LIKELY_NAMES))])


def rules_for_members(policy: WalkPolicy) -> Rules:
    """Return the rules for members of a container: those that need no file of a directory."""
    rules = built_in_rules(include_secrets=policy.include_secrets, include_hidden=policy.include_hidden)
    if not policy.ignore_patterns:
        return rules
    return rules.adding(Precedence.CONFIGURED, _layer(policy.ignore_patterns, source="ignore_patterns"))


def _layer(patterns: Iterable[str], *, source: str) -> Layer:
    return layer_of(parse_patterns(patterns, source=source).rules)


def _secret_layer(names: Mapping[str, Sequence[str]]) -> Layer:
    rules = [
        rule._replace(label=f"secret: {kind}")
        for kind, patterns in names.items()
        for rule in parse_patterns(patterns, source=kind).rules
    ]
    return layer_of(rules, ignore_case=True)
