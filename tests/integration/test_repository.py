from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from trees import plant, plant_repository, walked

from directory_indexer.walk.repository import GitSettings, git_settings, repository_around, repository_at

if TYPE_CHECKING:
    from collections.abc import Callable
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

    assert git_settings(repository) == GitSettings(
        user_ignore_file=tmp_path / "own", ignore_case=True, is_named_by_repository=True
    )


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
    plant(tmp_path / "main", {".git/worktrees/other/gitdir": f"{tmp_path}/other/.git\n"})
    plant(tmp_path / "other", {".git": f"gitdir: {tmp_path}/main/.git/worktrees/other\n", "a.log": "x", "b": "x"})

    assert walked(tmp_path / "other").files == {"b"}


@pytest.mark.parametrize(
    ("config", "n_refused"),
    [
        ('[core]\nexcludesfile = "a\0b"\n', 1),
        ("[core]\nexcludesfile = ~a\0b/c\n", 1),
        ('[include]\npath = "a\0b"\n', 1),
        ('[core]\nworktree = "a\0b"\n', 0),
    ],
)
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, config: str, n_refused: int) -> None:
    top = plant_repository(tmp_path / "tree", {".git/config": config, "a": "text"})

    found = walked(top)
    assert "a" in found.files
    assert len(found.failures) == n_refused


@pytest.mark.parametrize("name", ["~a\0b/c", "a\0b"])
def test_a_name_that_no_file_can_have_counts_for_nothing_in_the_settings_of_the_user(
    home_directory: Path, tmp_path: Path, name: str
) -> None:
    plant(home_directory, {".gitconfig": f"[include]\npath = {name}\n[core]\nexcludesfile = {name}\n"})

    assert walked(plant(tmp_path / "tree", {"a": "text"})).files == {"a"}


@pytest.mark.parametrize("is_link", [False, True])
def test_a_git_file_that_names_the_repository_of_another_shows_none_of_its_rules(
    tmp_path: Path, *, is_link: bool
) -> None:
    other = plant_repository(tmp_path / "private", {".git/info/exclude": "secret-*\n"})
    tree = plant(tmp_path / "tree", {"secret-words": "text", "sub/a": "text"})
    if is_link:
        (tree / ".git").symlink_to(other / ".git")
    else:
        plant(tree, {".git": f"gitdir: {other}/.git\n"})

    found = walked(tree)
    assert {"secret-words", "sub/a"} <= found.files
    assert found.failures == {".git": "leads to a git directory that does not name it, and is not used"}


def test_a_repository_whose_settings_are_refused_is_one_all_the_same(tmp_path: Path) -> None:
    plant_repository(tmp_path / "private")
    outer = plant_repository(tmp_path / "outer", {".gitignore": "a\n", "inner/a": "text"})
    plant(outer, {"inner/.git": f"gitdir: {tmp_path}/private/.git\n"})

    assert "inner/a" in walked(outer).files


def test_a_shared_directory_that_is_not_the_repository_s_own_is_not_read(tmp_path: Path) -> None:
    private = plant(tmp_path / "private", {"config": "[core]\nignorecase = true\n", "info/exclude": "secret-*\n"})
    tree = plant_repository(tmp_path / "tree", {".git/commondir": f"{private}\n", "secret-words": "text"})

    found = walked(tree)
    assert "secret-words" in found.files
    assert found.failures == {".git": "shares a directory that is not its own, and is not used"}


def test_a_linked_work_tree_shares_no_directory_but_that_of_its_repository(tmp_path: Path) -> None:
    private = plant(tmp_path / "private", {"info/exclude": "secret-*\n"})
    plant(tmp_path / "evil", {"worktrees/x/HEAD": "x", "worktrees/x/commondir": f"{private}\n"})
    plant(tmp_path / "evil", {"worktrees/x/gitdir": f"{tmp_path}/tree/.git\n"})
    tree = plant(tmp_path / "tree", {".git": "gitdir: ../evil/worktrees/x\n", "secret-words": "text"})

    assert walked(tree).failures == {".git": "shares a directory that is not its own, and is not used"}


def test_settings_of_a_repository_that_are_a_link_out_of_it_are_refused(tmp_path: Path) -> None:
    private = plant(tmp_path / "private", {"file": "[core]\nignorecase = true\n"}) / "file"
    top = plant_repository(tmp_path / "tree")
    (top / ".git" / "config").symlink_to(private)

    settings = git_settings(repository_at(top))
    assert not settings.ignore_case
    assert ["leads out of the repository" in message for message in settings.refused] == [True]


@pytest.mark.parametrize("name", ["own", ".git/config", ".git/more", ".git/info/exclude"])
def test_what_a_repository_names_is_not_opened_through_a_link_that_was_put_there_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    private = plant(tmp_path / "private", {"file": "secret-*\n"}) / "file"
    config = "[core]\nexcludesfile = own\n[include]\npath = more\n"
    top = plant_repository(tmp_path / "tree", {".git/config": config, "secret-words": "text"})
    plant(top, {"own": "# none\n", ".git/more": "# none\n", ".git/info/exclude": "# none\n"})
    real_path, checked = os.path.realpath, os.path.realpath(top / name)

    def swapping(path: str | Path) -> str:
        found = real_path(path)
        if found == checked and not os.path.islink(checked):
            os.unlink(checked)
            os.symlink(private, checked)
        return found

    monkeypatch.setattr(os.path, "realpath", swapping)
    found = walked(top)
    assert os.path.islink(checked)
    assert "secret-words" in found.files
    assert found.failures


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., None]:
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    settings = ("protocol.file.allow=always", "user.name=a", "user.email=a@example.org")

    def git(directory: str, *arguments: str) -> None:
        options = [option for setting in settings for option in ("-c", setting)]
        subprocess.run(["git", *options, *arguments], cwd=tmp_path / directory, check=True, capture_output=True)

    (tmp_path / "main").mkdir()
    git("main", "init")
    git("main", "commit", "--allow-empty", "-m", "first")
    return git


def test_work_trees_and_submodules_that_git_makes_have_the_rules_of_their_repositories(
    git: Callable[..., None], tmp_path: Path
) -> None:
    git("main", "worktree", "add", "../linked")
    git("", "clone", "main", "library")
    git("main", "submodule", "add", "../library", "vendor/library")
    git("main/vendor/library", "worktree", "add", "../../../linked-library")
    modules = tmp_path / "main" / ".git" / "modules" / "vendor" / "library"
    places = [("linked", tmp_path / "main" / ".git")]
    places += [("main/vendor/library", modules), ("linked-library", modules)]
    for name, git_directory in places:
        plant(tmp_path / name, {"a.log": "text", "b": "text"})
        plant(git_directory, {"info/exclude": "*.log\n"})
        found = walked(tmp_path / name)
        assert (found.failures, "b" in found.files, "a.log" in found.files) == ({}, True, False), name


def test_a_submodule_outside_of_modules_is_known_by_its_work_tree(tmp_path: Path) -> None:
    plant(tmp_path / "elsewhere", {"HEAD": "x", "config": "[core]\nworktree = ../tree\n", "info/exclude": "*.log\n"})
    tree = plant(tmp_path / "tree", {".git": f"gitdir: {tmp_path}/elsewhere\n", "a.log": "x", "b": "x"})

    found = walked(tree)
    assert (found.failures, "b" in found.files, "a.log" in found.files) == ({}, True, False)
