"""Ignore files, with the problems that occur while they are read, and the lazily evaluated rules of a directory.

In an unchanged directory the rules are not needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.core.errors import ConfigError
from directory_indexer.core.files import FileFailure, Stage
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import FilePath, exact_text, file_path
from directory_indexer.core.safe_open import open_entry, open_file, path_exists, read_small_file
from directory_indexer.walk.gitignore import ParsedRules, parse_patterns, parse_rules
from directory_indexer.walk.ignore import Precedence, Rules
from directory_indexer.walk.repository import (
    GitSettings,
    Repository,
    git_settings,
    relative_to_repository,
    repository_around,
    repository_at,
)
from directory_indexer.walk.rule_layer import layer_of

RULE_FILES: Final = frozenset({".git", ".gitignore", ".dirindexignore"})
"""Names of entries that change the rules of their directory."""


class RuleText(NamedTuple):
    """The content of an ignore file."""

    precedence: Precedence
    path: str
    content: bytes


class DirectoryRules(NamedTuple):
    """The rules of a directory itself. If `ignore_case` is set, a repository starts here."""

    ignore_case: bool | None = None
    texts: tuple[RuleText, ...] = ()


class RuleProblems:
    """Files that could not be used as they are, and whether any rules could not be read."""

    def __init__(self) -> None:
        self.are_lost = False
        self._failures: list[FileFailure] = []

    def take(self) -> tuple[list[FileFailure], bool]:
        """Return and clear the failures so far, and whether rules are lost."""
        failures, self._failures = self._failures, []
        are_lost, self.are_lost = self.are_lost, False
        return failures, are_lost

    def lose(self, path: str, error: OSError) -> None:
        """Record a file whose rules cannot be read."""
        self.are_lost = True
        self.note(path, f"its rules cannot be read: {error.strerror}")

    def note(self, path: str, message: str) -> None:
        """Record what is wrong with a file."""
        self._failures.append(FileFailure(file_path(path), Stage.WALK, message))


@lru_cache(maxsize=4)
def _parse_configured(patterns: tuple[str, ...]) -> ParsedRules:
    """Parse the patterns of the configuration, the same at each look for changes."""
    return parse_patterns(patterns, source="ignore_patterns")


class RuleFiles:
    """The ignore files around and below one root."""

    def __init__(self, root: FilePath, *, respect_gitignore: bool) -> None:
        self.problems = RuleProblems()
        self._root = exact_text(root)
        self._respect_gitignore = respect_gitignore

    def rules_at_root(self, built_in: Callable[[], Rules], patterns: Sequence[str]) -> LazyRules:
        """Return the rules from outside the root: the configured patterns, and the repository around it.

        Raises:
            ConfigError: a configured pattern can never match.
        """
        root = Path(self._root)
        repository = self._repository(root.parent, repository_around)
        top = repository.top if repository else root
        outside = [] if repository else [self._rules_of_repository(None)]
        parents = list(reversed([parent for parent in root.parents if parent.is_relative_to(top)]))
        around = [self._read(str(parent), RULE_FILES, handle=str(parent)) for parent in parents]
        parsed = _parse_configured(tuple(patterns))
        if parsed.problems:
            raise ConfigError("\n  ".join(["the configuration has mistakes", *parsed.problems]))

        def compute(_: Rules) -> Rules:
            rules = built_in()
            for name in top.parts[1:]:
                rules = rules.enter(name)
            for outer_rules in outside:
                rules = self._apply_texts(rules, outer_rules)
            for parent, outer_rules in zip(parents, around, strict=True):
                rules = self._apply_texts(rules, outer_rules).enter(root.relative_to(parent).parts[0])
            return rules.adding(Precedence.CONFIGURED, layer_of(parsed.rules)) if parsed.rules else rules

        key = self._cache_key(b"", (str(top), [*outside, *around], patterns))
        return LazyRules(key, Step(LazyRules(key, Rules(())), compute))

    def rules_in(
        self, rules: LazyRules, directory: str, names: Container[str], *, handle: int | str | None = None
    ) -> LazyRules:
        """Return rules with those that a directory, open as `handle`, adds.

        `names` tells which of `RULE_FILES` it contains. The files are read now, since their content is part of the key
        of the rules, but parsed lazily.
        """
        added = self._read(directory, names, handle=directory if handle is None else handle)
        key = None if rules.key is None else self._cache_key(rules.key, added)
        return rules.leading_to(partial(self._apply_texts, added=added), key=key)

    def _cache_key(self, outer: bytes, source: object) -> bytes | None:
        return None if self.problems.are_lost else content_hash(outer + repr(source).encode())

    def _read(self, directory: str, names: Container[str], *, handle: int | str) -> DirectoryRules:
        """Read the rule files of a directory, relative to its descriptor if there is one."""
        added = DirectoryRules()
        if self._respect_gitignore and ".git" in names:
            repository = self._repository(Path(directory), repository_at)
            added = self._rules_of_repository(repository) if repository else added
        texts: list[RuleText] = []
        open_in_tree = partial(open_entry, directory=handle)
        if self._respect_gitignore and ".gitignore" in names:
            texts += self._read_rule_text(Precedence.GITIGNORE, os.path.join(directory, ".gitignore"), open_in_tree)
        if ".dirindexignore" in names:
            texts += self._read_rule_text(
                Precedence.DIRINDEXIGNORE, os.path.join(directory, ".dirindexignore"), open_in_tree
            )
        return added._replace(texts=(*added.texts, *texts))

    def _apply_texts(self, rules: Rules, added: DirectoryRules) -> Rules:
        if added.ignore_case is not None:
            rules = rules.at_repository(ignore_case=added.ignore_case)
        for precedence, path, content in added.texts:
            parsed = parse_rules(content, source=self._relative(path))
            if parsed.problems:
                self.problems.note(path, "; ".join(_first_problem_and_count(parsed.problems)))
            if parsed.rules:
                rules = rules.adding(precedence, layer_of(parsed.rules, ignore_case=rules.ignore_case))
        return rules

    def _repository(self, directory: Path, find: Callable[[Path], Repository | None]) -> Repository | None:
        try:
            return find(directory)
        except OSError as error:
            self.problems.lose(str(directory / ".git"), error)
            return None

    def _rules_of_repository(self, repository: Repository | None) -> DirectoryRules:
        if not self._respect_gitignore:
            return DirectoryRules()
        try:
            settings = git_settings(repository)
        except OSError as error:
            self.problems.lose(error.filename or "git config", error)
            settings = GitSettings(user_ignore_file=None, ignore_case=False)
        texts: list[RuleText] = []
        if repository and repository.refusal:
            self.problems.note(str(repository.top / ".git"), repository.refusal)
        elif repository:
            for message in settings.refused:
                self.problems.note(str(repository.directory / "config"), message)
            texts += self._exclude_files_of(repository)
        if settings.user_ignore_file and path_exists(settings.user_ignore_file):
            open_it = open_file if settings.is_named_by_repository else None
            texts += self._read_rule_text(Precedence.USER_IGNORE, str(settings.user_ignore_file), open_it)
        return DirectoryRules(settings.ignore_case, tuple(texts))

    def _exclude_files_of(self, repository: Repository) -> Iterable[RuleText]:
        if not path_exists(repository.exclude_file):
            return
        if real := relative_to_repository(repository.exclude_file, repository):
            yield from self._read_rule_text(Precedence.GIT_EXCLUDE, real, open_file)
        else:
            self.problems.note(str(repository.exclude_file), "leads out of the repository, and is not used")

    def _read_rule_text(
        self, precedence: Precedence, path: str, open_it: Callable[[str], int] | None = None
    ) -> Iterable[RuleText]:
        try:
            yield RuleText(precedence, path, read_small_file(path, open_it))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return
        except OSError as error:
            self.problems.lose(path, error)

    def _relative(self, path: str) -> str:
        return file_path(path.removeprefix(os.path.join(self._root, "")))


class LazyRules:
    """The rules of a directory, or the step that computes them.

    `key` represents everything that they depend on, beside the path of the directory: while it is the same, so are the
    rules. It is None if not everything could be read.
    """

    def __init__(self, key: bytes | None, rules: Rules | Step) -> None:
        self.key = key
        self.made: Rules | Step = rules

    def leading_to(self, change: Callable[[Rules], Rules], *, key: bytes | None) -> LazyRules:
        """Return the rules that result from a change of these."""
        return LazyRules(key, Step(self, change))

    def entering(self, directory_name: str) -> LazyRules:
        """Return the rules in a sub-directory, before its own are added."""
        return self.leading_to(lambda rules: rules.enter(directory_name), key=self.key)

    def resolve(self) -> Rules:
        """Compute the rules."""
        # Iterative: directories may be nested ten thousand deep.
        waiting: list[tuple[LazyRules, Step]] = []
        late = self
        while isinstance(late.made, Step):
            waiting.append((late, late.made))
            late = late.made.outer
        rules = late.made
        for late, step in reversed(waiting):
            rules = late.made = step.change(rules)
        return rules


class Step(NamedTuple):
    """The derivation of rules from outer ones."""

    outer: LazyRules
    change: Callable[[Rules], Rules]


def _first_problem_and_count(problems: tuple[str, ...]) -> Iterable[str]:
    yield problems[0]
    if problems[1:]:
        yield f"and {len(problems) - 1} more like it"
