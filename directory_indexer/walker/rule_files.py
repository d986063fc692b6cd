"""Reads the files that rules come from, and keeps what went wrong with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from directory_indexer.errors import ConfigError
from directory_indexer.records import FileFailure, Stage, file_path, os_path
from directory_indexer.walker.gitignore import parse_patterns, parse_rules
from directory_indexer.walker.ignore import Precedence
from directory_indexer.walker.repository import (
    GitSettings,
    git_settings,
    is_there,
    read_small_file,
    repository_around,
    repository_at,
)
from directory_indexer.walker.rule_layer import layer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from directory_indexer.records import FilePath
    from directory_indexer.walker.ignore import Rules
    from directory_indexer.walker.repository import Repository

RULE_FILES: Final = frozenset({".git", ".gitignore", ".dirindexignore"})
"""Names of entries that change the rules of the directory that holds them."""


class RuleFiles:
    """The ignore files around and below one root.

    `failures` are those that could not be used as they are; `are_lost` tells that rules of some could not be read.
    """

    def __init__(self, root: FilePath, *, respect_gitignore: bool) -> None:
        self.failures: list[FileFailure] = []
        self.are_lost = False
        self._root = os_path(root)
        self._respect_gitignore = respect_gitignore

    def rules_at_root(self, built_in: Rules, patterns: Iterable[str]) -> Rules:
        """Gather what comes from outside: the configured patterns, and the repository that the root lies in.

        Raises:
            ConfigError: a configured pattern can never match.
        """
        root = Path(self._root)
        repository = self._repository(root.parent, repository_around)
        top = repository.top if repository else root
        rules = built_in
        for name in top.parts[1:]:
            rules = rules.enter(name)
        if repository is None:
            rules = self._with_git(rules, None)
        for parent in reversed([parent for parent in root.parents if parent.is_relative_to(top)]):
            child = root.relative_to(parent).parts[0]
            rules = self.rules_in(rules, str(parent), RULE_FILES).enter(child)
        parsed = parse_patterns(patterns, source="ignore_patterns")
        if parsed.problems:
            raise ConfigError("\n  ".join(["the configuration has mistakes", *parsed.problems]))
        return rules.adding(Precedence.CONFIGURED, layer_of(parsed.rules)) if parsed.rules else rules

    def take_failures(self) -> tuple[list[FileFailure], bool]:
        """Hand over the failures since the last time, and whether rules are lost by them."""
        failures, self.failures = self.failures, []
        are_lost, self.are_lost = self.are_lost, False
        return failures, are_lost

    def rules_in(self, rules: Rules, directory: str, names: Container[str]) -> Rules:
        """Add what a directory says itself; `names` tells which of `RULE_FILES` it holds."""
        if self._respect_gitignore and ".git" in names:
            repository = self._repository(Path(directory), repository_at)
            rules = self._with_git(rules, repository) if repository else rules
        if self._respect_gitignore and ".gitignore" in names:
            rules = self._with_file(rules, Precedence.GITIGNORE, os.path.join(directory, ".gitignore"))
        if ".dirindexignore" in names:
            rules = self._with_file(rules, Precedence.DIRINDEXIGNORE, os.path.join(directory, ".dirindexignore"))
        return rules

    def _repository(self, directory: Path, find: Callable[[Path], Repository | None]) -> Repository | None:
        try:
            return find(directory)
        except OSError as error:
            self._fail(str(directory / ".git"), error)
            return None

    def _with_git(self, rules: Rules, repository: Repository | None) -> Rules:
        if not self._respect_gitignore:
            return rules
        try:
            settings = git_settings(repository)
        except OSError as error:
            self._fail(error.filename or "git config", error)
            settings = GitSettings(user_ignore_file=None, ignore_case=False)
        rules = rules.at_repository(ignore_case=settings.ignore_case)
        if repository:
            rules = self._with_file(rules, Precedence.GIT_EXCLUDE, str(repository.exclude_file))
        if settings.user_ignore_file:
            rules = self._with_file(rules, Precedence.USER_IGNORE, str(settings.user_ignore_file))
        return rules

    def _with_file(self, rules: Rules, precedence: Precedence, path: str) -> Rules:
        is_in_tree = precedence in (Precedence.GITIGNORE, Precedence.DIRINDEXIGNORE)
        if not is_in_tree and not is_there(path):
            return rules
        try:
            content = read_small_file(path, follow_links=not is_in_tree)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return rules
        except OSError as error:
            self._fail(path, error)
            return rules
        parsed = parse_rules(content, source=self._shown(path))
        if parsed.problems:
            self._add_failure(path, "; ".join(_first_of(parsed.problems)))
        return (
            rules.adding(precedence, layer_of(parsed.rules, ignore_case=rules.ignore_case)) if parsed.rules else rules
        )

    def _shown(self, path: str) -> str:
        return file_path(path.removeprefix(os.path.join(self._root, "")))

    def _fail(self, path: str, error: OSError) -> None:
        self.are_lost = True
        self._add_failure(path, f"its rules cannot be read: {error.strerror}")

    def _add_failure(self, path: str, message: str) -> None:
        self.failures.append(FileFailure(file_path(path), Stage.WALK, message))


def _first_of(problems: tuple[str, ...]) -> Iterable[str]:
    yield problems[0]
    if problems[1:]:
        yield f"and {len(problems) - 1} more like it"
