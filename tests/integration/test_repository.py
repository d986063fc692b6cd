from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from trees import plant, plant_repository, walked

from directory_indexer.walker.repository import GitSettings, git_settings, repository_around, repository_at

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_settings_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def _user_ignore_file(home: Path, config: str) -> str:
    plant(home, {".gitconfig": config})
    path = git_settings(None).user_ignore_file
    return str(path).replace(str(home), "~")


def test_the_repository_is_the_innermost_around_a_directory(tmp_path: Path) -> None:
    outer = plant_repository(tmp_path / "outer", {"a/b/": ""})
    inner = plant_repository(outer / "inner", {"c/": ""})
    found = [repository_around(directory) for directory in (outer, outer / "a" / "b", inner / "c")]

    assert [repository.top for repository in found if repository] == [outer, outer, inner]
    assert repository_around(tmp_path) is None


@pytest.mark.parametrize("content", ["", "gitdir: nowhere\n", "gitdir: \0\n", "\xff"])
def test_a_file_that_leads_to_no_repository_makes_none(tmp_path: Path, content: str) -> None:
    plant(tmp_path, {".git": content})

    assert repository_at(tmp_path) is None


def test_by_default_the_user_has_an_ignore_file_at_the_usual_place(
    home_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = GitSettings(user_ignore_file=home_directory / ".config" / "git" / "ignore", ignore_case=False)
    assert git_settings(None) == usual

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert git_settings(None).user_ignore_file == tmp_path / "git" / "ignore"


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ("[core]\n\texcludesfile = ~/plain\n", "~/plain"),
        ('[core] excludesFile = "~/with # and ;" ; note\n', "~/with # and ;"),
        ("[CORE]\nExcludesFile=~/a b   # note\n", "~/a b"),
        ('[core]\nexcludesfile = ~/"quoted part"/x\n', "~/quoted part/x"),
        ("[core]\nexcludesfile = ~/long\\\n-line\n", "~/long-line"),
        ("[core]\nexcludesfile = ~/one\n[user]\nname = x\n[core]\nexcludesfile = ~/two\n", "~/two"),
        ('[core "sub"]\nexcludesfile = ~/other\n[alias]\nexcludesfile = ~/no\n', "~/.config/git/ignore"),
        ("# [core]\n; excludesfile = ~/no\n", "~/.config/git/ignore"),
        ("[core]\r\nexcludesfile = ~/windows\r\n", "~/windows"),
        ("[core]\nexcludesfile =\n", "None"),
        ("\xff[core\nexcludesfile = ~/broken\n]]]", "~/.config/git/ignore"),
    ],
)
def test_the_place_of_the_ignore_file_is_read_as_git_does(home_directory: Path, config: str, path: str) -> None:
    assert _user_ignore_file(home_directory, config) == path


def test_included_settings_count_and_a_circle_ends(home_directory: Path) -> None:
    plant(home_directory, {"more": "[core]\nexcludesfile = ~/included\n[include]\npath = .gitconfig\n"})

    assert _user_ignore_file(home_directory, "[include]\npath = more\n") == "~/included"


def test_settings_that_include_each_other_many_times_are_read_once(home_directory: Path) -> None:
    circle = "".join(f"[include]\npath = {name}\n" for name in "abcdefgh") * 10
    plant(home_directory, {**dict.fromkeys("abcdefgh", circle)})

    assert _user_ignore_file(home_directory, circle + "[core]\nexcludesfile = ~/mine\n") == "~/mine"


def test_settings_of_the_repository_come_last(home_directory: Path, tmp_path: Path) -> None:
    plant(home_directory, {".gitconfig": "[core]\nexcludesfile = ~/user\n"})
    config = f"[core]\nexcludesfile = {tmp_path}/own\nignorecase\n"
    repository = repository_at(plant_repository(tmp_path, {".git/config": config}))

    assert git_settings(repository) == GitSettings(user_ignore_file=tmp_path / "own", ignore_case=True)


def test_the_files_of_the_settings_can_be_named_in_the_environment(
    home_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(home_directory, {".gitconfig": "[core]\nexcludesfile = ~/user\n"})
    plant(tmp_path, {"system": "[core]\nexcludesfile = /system\nignorecase = yes\n", "only": "[core]\n"})
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "0")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(tmp_path / "system"))

    assert git_settings(None).user_ignore_file == home_directory / "user"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "only"))
    assert str(git_settings(None).user_ignore_file) == "/system"
    assert git_settings(None).ignore_case


def test_settings_that_are_no_file_are_told(home_directory: Path) -> None:
    plant(home_directory, {".gitconfig/": ""})

    with pytest.raises(IsADirectoryError):
        git_settings(None)


def test_a_chain_of_includes_ends_where_that_of_git_does(home_directory: Path) -> None:
    plant(home_directory, {str(number): f"[include]\npath = {number + 1}\n" for number in range(3000)})

    with pytest.raises(OSError, match="too many files include each other"):
        _user_ignore_file(home_directory, "[include]\npath = 0\n")


@pytest.mark.parametrize(
    "config", ["[core]\nexcludesfile = {outside}\n", "[include]\npath = {outside}\n", "[include]\npath = link\n"]
)
def test_a_repository_names_no_file_outside_of_itself(home_directory: Path, tmp_path: Path, config: str) -> None:
    plant(home_directory, {".gitconfig": "[core]\nexcludesfile = ~/user\n"})
    outside = plant(tmp_path / "private", {"file": "[core]\nexcludesfile = secret\n"}) / "file"
    top = plant_repository(tmp_path / "tree", {".git/config": config.format(outside=outside)})
    (top / ".git" / "link").symlink_to(outside)

    settings = git_settings(repository_at(top))
    assert settings.user_ignore_file == home_directory / "user"
    assert ["leads out of the repository" in message for message in settings.refused] == [True]


def test_rules_of_a_repository_that_lie_elsewhere_are_neither_used_nor_shown(tmp_path: Path) -> None:
    private = plant(tmp_path / "private", {"list": "secret-words\n[\n"}) / "list"
    top = plant_repository(tmp_path / "tree", {"secret-words": "text", "a": "text"})
    (top / ".git" / "info" / "exclude").symlink_to(private)

    found = walked(top)
    assert found.files == {"secret-words", "a"}
    assert found.failures == {".git/info/exclude": "leads out of the repository, and is not used"}


def test_the_rules_of_a_linked_work_tree_are_those_of_its_repository(tmp_path: Path) -> None:
    plant_repository(tmp_path / "main", {".git/info/exclude": "*.log\n", ".git/worktrees/other/HEAD": "ref: x\n"})
    plant(tmp_path / "main", {".git/worktrees/other/commondir": "../..\n"})
    plant(tmp_path / "other", {".git": f"gitdir: {tmp_path}/main/.git/worktrees/other\n", "a.log": "x", "b": "x"})

    assert walked(tmp_path / "other").files == {"b"}
