from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from trees import EVERYTHING, listings, plant, plant_repository, walked

from directory_indexer.core.errors import ConfigError
from directory_indexer.core.files import SourceFile
from directory_indexer.core.paths import exact_text, file_path
from directory_indexer.core.safe_open import MAX_FILE_BYTES
from directory_indexer.walk import WalkPolicy
from directory_indexer.walk.walk import explain, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PRIVATE = WalkPolicy()
FOLLOWING = WalkPolicy(include_hidden=True, include_secrets=True, follow_symlinks=True)
NOBODY = 65534

posix = pytest.mark.skipif(os.name != "posix", reason="there is no such thing on this system")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def as_nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a directory in which permissions count, even when the tests run as root."""
    if os.name != "posix":
        pytest.skip("permissions are another matter on this system")
    directory = Path(tempfile.mkdtemp())
    monkeypatch.setenv("HOME", str(directory))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(directory, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield directory
    if is_root:
        os.seteuid(0)
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o700)
    shutil.rmtree(directory)


def while_listing(monkeypatch: pytest.MonkeyPatch, directory: Path, act: Callable[[], None]) -> None:
    """Do something while the entries of a directory are looked at, after the first one by name."""
    scandir, identity = os.scandir, directory.stat().st_ino

    class Scan:
        def __init__(self, handle: Any) -> None:
            self._is_meant = os.stat(handle).st_ino == identity
            self._entries = scandir(handle)

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            first, *others = sorted(self._entries, key=attrgetter("name"))
            yield first
            if self._is_meant:
                act()
            yield from others

        def __exit__(self, *_: object) -> None:
            self._entries.close()

    monkeypatch.setattr(os, "scandir", Scan)


def test_a_file_is_told_with_its_size_and_time(root: Path) -> None:
    plant(root, {"sub/a.txt": "12345"})
    path = root / "sub" / "a.txt"
    os.utime(path, ns=(1, 1_700_000_000_123_456_789))

    files = [file for listing in listings(root, PRIVATE) for file in listing.files]

    status = path.stat()
    assert files == [SourceFile(file_path(path), 5, 1_700_000_000_123_456_789, status.st_ctime_ns, status.st_ino)]


def test_there_is_one_listing_for_each_directory_and_names_decide_their_order(root: Path) -> None:
    plant(root, {"b/x/": "", "a/": "", "c.txt": "", "b/y/": ""})

    assert walked(root).directories == [".", "a", "b", "b/x", "b/y"]


def test_empty_and_large_files_are_skipped_with_their_size(root: Path) -> None:
    plant(root, {"empty": "", "large": "123456", "fits": "12345"})
    policy = WalkPolicy(max_file_size=5)
    [listing] = listings(root, policy)

    assert {
        (os.path.basename(skip.path), skip.reason, skip.source and skip.source.size) for skip in listing.skipped
    } == {
        ("empty", "empty", 0),
        ("large", "too large", 6),
    }
    assert walked(root, policy).files == {"fits"}


@posix
def test_what_is_no_regular_file_is_never_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(root, {"a.txt": "a"})
    os.mkfifo(root / "fifo")
    os.mkfifo(root / ".gitignore")
    monkeypatch.chdir(root)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")

        result = walked(root)

    assert result.skipped == {"fifo": "not a regular file: ", "socket": "not a regular file: "}
    assert result.failures == {".gitignore": "its rules cannot be read: not a regular file"}
    assert result.files == {"a.txt"}


def test_hidden_names_are_left_out_unless_asked_for(root: Path) -> None:
    plant(root, {".hidden": "x", ".dir/a": "x", "seen": "x"})

    assert walked(root, PRIVATE).files == {"seen"}
    assert walked(root, PRIVATE).ignored == {".hidden": "hidden: .*", ".dir": "hidden: .*"}
    assert walked(root).files == {".hidden", ".dir/a", "seen"}


def test_the_root_itself_may_be_hidden(tmp_path: Path) -> None:
    plant(tmp_path / ".notes", {"a": "x"})

    assert walked(tmp_path / ".notes", PRIVATE).files == {"a"}


def test_secrets_are_skipped_and_counted_unless_asked_for(root: Path) -> None:
    plant(root, {".env": "x", ".env.example": "x", "id_rsa": "x", ".ssh/config": "x", "a/store.p12": "x"})
    policy = WalkPolicy(include_hidden=True)

    assert walked(root, policy).skipped == {
        "id_rsa": "secret: private key",
        "a/store.p12": "secret: key store",
    }
    assert walked(root, policy).ignored == {".ssh": "secret: key directory"}
    assert walked(root, policy).files == {".env", ".env.example"}
    assert len(walked(root).files) == 5


def test_a_secret_place_is_known_from_the_way_to_the_root(tmp_path: Path) -> None:
    root = plant(tmp_path / "etc", {"shadow": "x", "notes": "x"})

    assert walked(root, PRIVATE).skipped == {"shadow": "secret: password database"}


def test_an_ignored_directory_is_named_but_not_entered(root: Path) -> None:
    plant(root, {"node_modules/pkg/a.js": "x", "src/node_modules/b.js": "x", "src/c.js": "x"})
    result = walked(root, WalkPolicy(ignore_patterns=("node_modules",)))

    rule = "ignore_patterns: node_modules"
    assert result.ignored == {"node_modules": rule, "src/node_modules": rule}
    assert result.directories == [".", "src"]


def test_a_configured_pattern_is_no_substring(root: Path) -> None:
    plant(root, {"targets/a": "x", "target/b": "x", "my.git/c": "x", "docs/d": "x"})

    assert walked(root, WalkPolicy(ignore_patterns=(".git", "target", "/docs/d"))).files == {"targets/a", "my.git/c"}


def test_a_configured_pattern_that_cannot_match_is_a_mistake(root: Path) -> None:
    plant(root, {})

    with pytest.raises(ConfigError, match=r"ignore_patterns: \[a: nothing can match"):
        walk(file_path(root), WalkPolicy(ignore_patterns=("[a",)))


def test_gitignore_counts_at_every_level_without_any_repository(root: Path) -> None:
    plant(
        root, {".gitignore": "*.log\n", "a.log": "x", "sub/b.log": "x", "sub/.gitignore": "!b.log\n/c\n", "sub/c": "x"}
    )
    result = walked(root)

    assert result.ignored == {"a.log": ".gitignore:1: *.log", "sub/c": "sub/.gitignore:2: /c"}
    assert "sub/b.log" in result.files


def test_gitignore_can_be_left_aside(root: Path) -> None:
    plant_repository(
        root, {".gitignore": "*\n", ".git/info/exclude": "*\n", ".dirindexignore": "b\n", "a": "x", "b": "x"}
    )
    result = walked(root, WalkPolicy(respect_gitignore=False))

    assert result.files == {"a"}


def test_rules_of_the_repository_around_the_root_count(tmp_path: Path) -> None:
    top = plant_repository(
        tmp_path / "top",
        {
            ".gitignore": "*.log\n/docs/drafts/\n",
            ".git/info/exclude": "*.tmp\n",
            ".dirindexignore": "*.bak\n",
            "docs/.gitignore": "*.out\n",
            "docs/guide/drafts/kept": "x",
        },
    )
    plant(top / "docs", {"drafts/a": "x", "a.log": "x", "a.tmp": "x", "a.bak": "x", "a.out": "x"})
    result = walked(top / "docs")

    assert result.ignored == {
        "drafts": f"{top}/.gitignore:2: /docs/drafts/",
        "a.log": f"{top}/.gitignore:1: *.log",
        "a.tmp": f"{top}/.git/info/exclude:1: *.tmp",
        "a.bak": f"{top}/.dirindexignore:1: *.bak",
        "a.out": ".gitignore:1: *.out",
    }
    assert result.files == {".gitignore", "guide/drafts/kept"}


def test_gitignore_above_the_root_counts_only_inside_of_a_repository(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "*\n", "root/a": "x"})

    assert walked(tmp_path / "root").files == {"a"}


def test_a_repository_inside_keeps_its_rules_and_those_around_it_out(root: Path) -> None:
    plant_repository(root, {".gitignore": "*.log\n", ".git/info/exclude": "*.tmp\n", ".dirindexignore": "*.bak\n"})
    inner = plant_repository(root / "inner", {".git/info/exclude": "*.txt\n"})
    plant(inner, {"a.log": "x", "a.tmp": "x", "a.txt": "x", "a.bak": "x"})
    result = walked(root)

    assert {path for path in result.files if path.startswith("inner")} == {"inner/a.log", "inner/a.tmp"}
    assert result.ignored["inner/a.txt"] == "inner/.git/info/exclude:1: *.txt"
    assert result.ignored["inner/a.bak"] == ".dirindexignore:1: *.bak"


def test_a_directory_named_like_that_of_git_makes_no_repository(root: Path) -> None:
    plant(root, {".gitignore": "*.log\n", "sub/.git/junk": "x", "sub/a.log": "x"})

    assert walked(root).ignored == {"sub/.git": "git: .git", "sub/a.log": ".gitignore:1: *.log"}


def test_the_rules_of_a_linked_work_tree_and_of_a_submodule_lie_elsewhere(tmp_path: Path) -> None:
    main = plant_repository(tmp_path / "main", {".git/info/exclude": "*.tmp\n"})
    plant(
        main / ".git" / "worktrees" / "side", {"HEAD": "x", "commondir": "../..\n", "gitdir": f"{tmp_path}/side/.git\n"}
    )
    plant(main / ".git" / "modules" / "lib", {"HEAD": "x", "info/exclude": "*.out\n"})
    side = plant(tmp_path / "side", {".git": f"gitdir: {main}/.git/worktrees/side\n", "a.tmp": "x", "a.out": "x"})
    plant(main / "lib", {".git": "gitdir: ../.git/modules/lib\n", "b.tmp": "x", "b.out": "x"})

    assert walked(side).files == {"a.out"}
    assert walked(main).files == {"lib/b.tmp"}
    assert walked(side).ignored[".git"] == "git: .git"


def test_the_ignore_file_of_the_user_counts_everywhere(root: Path, home_directory: Path) -> None:
    plant(home_directory, {".config/git/ignore": "*.swp\n"})
    plant(root, {"a.swp": "x", "b": "x"})
    plant_repository(root / "inner", {".gitignore": "!kept.swp\n", "c.swp": "x", "kept.swp": "x"})
    result = walked(root, PRIVATE)

    assert result.files == {"b", "inner/kept.swp"}
    assert result.ignored["a.swp"] == f"{home_directory}/.config/git/ignore:1: *.swp"


def test_the_ignore_file_of_the_user_is_the_configured_one(root: Path, home_directory: Path) -> None:
    plant(home_directory, {".gitconfig": "[core]\n\texcludesFile = ~/mine\n", "mine": "*.mine\n"})
    plant_repository(root, {"a.mine": "x", "b": "x"})

    assert walked(root).files == {"b"}


@posix
def test_rules_from_outside_that_cannot_be_read_are_a_failure(as_nobody: Path) -> None:
    plant(as_nobody, {"root/a": "x", ".config/git/ignore": "a\n"})
    (as_nobody / ".config" / "git" / "ignore").chmod(0)
    result = walked(as_nobody / "root")

    assert result.failures == {"../.config/git/ignore": "its rules cannot be read: Permission denied"}
    assert result.files == {"a"}


def test_a_home_directory_that_is_closed_is_no_failure(as_nobody: Path) -> None:
    plant(as_nobody, {"root/a": "x", ".config/git/ignore": "a\n"})
    (as_nobody / ".config").chmod(0)

    assert not walked(as_nobody / "root").failures


def test_case_is_ignored_where_git_is_told_so(root: Path) -> None:
    plant_repository(root, {".git/config": "[core]\n\tignorecase = true\n", ".gitignore": "*.LOG\n", "a.log": "x"})

    assert walked(root).files == {".gitignore"}


def test_dirindexignore_leaves_out_and_brings_back_whatever_git_says(root: Path) -> None:
    plant(
        root,
        {
            ".gitignore": "build/\n*.log\n",
            ".dirindexignore": "!build/\n!.github/\nsecret-plans/\n!*.p12\n",
            "build/out.txt": "x",
            "build/.hidden": "x",
            ".github/ci.yml": "x",
            "secret-plans/a": "x",
            "sub/.dirindexignore": "!keep.log\n",
            "sub/keep.log": "x",
            "sub/other.log": "x",
            "prod.p12": "x",
        },
    )
    result = walked(root, WalkPolicy(ignore_patterns=("build",)))

    assert result.files == {"build/out.txt", ".github/ci.yml", "sub/keep.log"}
    assert result.skipped == {"prod.p12": "secret: key store"}
    assert result.ignored["secret-plans"] == ".dirindexignore:3: secret-plans/"
    assert result.ignored["build/.hidden"] == "hidden: .*"


def test_a_rule_that_can_never_match_is_a_failure_and_the_others_count(root: Path) -> None:
    plant(root, {".gitignore": "[abc\n*.log\n[def\n", "a.log": "x", "b": "x"})
    result = walked(root)

    assert result.failures == {
        ".gitignore": ".gitignore:1: [abc: nothing can match, for a bracket is not closed; and 1 more like it"
    }
    assert result.files == {"b"}


@posix
def test_an_ignore_file_that_is_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    plant(tmp_path, {"rules": "*\n"})
    plant(root, {"a": "x"})
    (root / ".gitignore").symlink_to(tmp_path / "rules")
    result = walked(root)

    assert result.files == {"a"}
    assert "symbolic link" in result.failures[".gitignore"]


def test_a_directory_with_the_name_of_an_ignore_file_is_a_directory(root: Path) -> None:
    plant(root, {".gitignore/a": "x"})

    assert walked(root).files == {".gitignore/a"}
    assert not walked(root).failures


def test_an_ignore_file_that_is_too_large_is_a_failure(root: Path) -> None:
    plant(root, {".gitignore": "#" * 2_000_000, "a": "x"})

    assert "larger than" in walked(root).failures[".gitignore"]


@posix
def test_a_link_is_skipped_by_default(root: Path, tmp_path: Path) -> None:
    plant(tmp_path, {"outside/a": "x"})
    plant(root, {"real": "x", "dir/": ""})
    (root / "file-link").symlink_to("real")
    (root / "dir-link").symlink_to(tmp_path / "outside")
    (root / "broken").symlink_to("nowhere")
    result = walked(root)

    assert result.files == {"real"}
    assert set(result.skipped) == {"file-link", "dir-link", "broken"}
    assert set(result.skipped.values()) == {"symbolic link: "}


@posix
def test_links_are_followed_on_demand_and_broken_ones_counted(root: Path, tmp_path: Path) -> None:
    plant(tmp_path, {"outside/a": "x", "outside/sub/b": "x"})
    plant(root, {"real": "x"})
    (root / "file-link").symlink_to("real")
    (root / "dir-link").symlink_to(tmp_path / "outside")
    (root / "broken").symlink_to("nowhere")
    (root / "itself").symlink_to("itself")
    result = walked(root, FOLLOWING)

    assert result.files == {"real", "file-link", "dir-link/a", "dir-link/sub/b"}
    assert result.skipped["broken"] == "broken link: No such file or directory"
    assert result.skipped["itself"].startswith("broken link: ")
    assert not result.failures


@posix
def test_links_in_a_circle_end(root: Path) -> None:
    plant(root, {"a/b/x": "x", "z/y": "x"})
    (root / "a" / "b" / "up").symlink_to(root)
    (root / "a" / "across").symlink_to(root / "z")
    (root / "z" / "back").symlink_to(root / "a")
    result = walked(root, FOLLOWING)

    assert result.files == {"a/b/x", "z/y"}
    assert set(result.skipped) == {"a/b/up", "a/across", "z/back"}


@posix
def test_a_directory_that_several_links_lead_to_is_listed_once(root: Path, tmp_path: Path) -> None:
    plant(tmp_path, {"outside/a": "x"})
    plant(root, {})
    for name in ("one", "two"):
        (root / name).symlink_to(tmp_path / "outside")
    result = walked(root, FOLLOWING)

    assert result.files == {"one/a"}
    assert result.skipped == {"two": "symbolic link: leads to a directory listed elsewhere"}


@posix
def test_a_link_to_a_secret_is_a_secret_under_any_name(root: Path, tmp_path: Path) -> None:
    plant(tmp_path, {"id_rsa": "x", ".ssh/config": "x"})
    plant(root, {})
    (root / "notes.txt").symlink_to(tmp_path / "id_rsa")
    (root / "settings").symlink_to(tmp_path / ".ssh")
    result = walked(root, WalkPolicy(follow_symlinks=True))

    assert result.skipped == {"notes.txt": "secret: private key"}
    assert result.ignored == {"settings": "secret: key directory"}


def test_a_directory_that_cannot_be_read_is_a_failure_and_the_walk_goes_on(as_nobody: Path) -> None:
    plant(as_nobody, {"closed/a": "x", "open/b": "x"})
    (as_nobody / "closed").chmod(0)
    result = walked(as_nobody)

    assert result.failures == {"closed": "permission denied"}
    assert result.files == {"open/b"}


def test_entries_that_cannot_be_looked_at_are_failures(as_nobody: Path) -> None:
    plant(as_nobody, {"dir/a": "x", "dir/sub/b": "x"})
    (as_nobody / "dir").chmod(0o400)
    result = walked(as_nobody)

    assert result.failures == {"dir/a": "permission denied", "dir/sub": "permission denied"}


def test_an_ignore_file_that_cannot_be_read_is_a_failure_and_the_walk_goes_on(as_nobody: Path) -> None:
    plant(as_nobody, {".gitignore": "a\n", "a": "x"})
    (as_nobody / ".gitignore").chmod(0)
    result = walked(as_nobody)

    assert result.failures == {".gitignore": "its rules cannot be read: Permission denied"}
    assert result.files == {"a"}


def test_a_root_that_is_not_there_is_a_failure(root: Path) -> None:
    assert walked(root).failures == {".": "no such file or directory"}


def test_a_file_that_vanishes_while_it_is_looked_at_is_a_failure(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(root, {"a": "x", "b": "x"})
    while_listing(monkeypatch, root, (root / "b").unlink)
    result = walked(root)

    assert result.files == {"a"}
    assert result.failures == {"b": "no such file or directory"}


def test_what_was_read_before_an_error_counts_and_the_directory_is_a_failure(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error")

    plant(root, {"sub/a": "x", "b": "x"})
    while_listing(monkeypatch, root / "sub", fail)
    result = walked(root)

    assert result.files == {"sub/a", "b"}
    assert result.failures == {"sub": "input/output error"}


@posix
def test_a_link_put_in_the_place_of_a_directory_leads_nowhere(root: Path, tmp_path: Path) -> None:
    plant(tmp_path, {"outside/private": "x"})
    plant(root, {"sub/": ""})
    further = listings(root, EVERYTHING)
    next(further)
    (root / "sub").rmdir()
    (root / "sub").symlink_to(tmp_path / "outside")

    [listing] = further

    assert not listing.files
    assert [failure.path for failure in listing.failures] == [file_path(root / "sub")]


@pytest.mark.skipif(os.fsencode("\udcff") != b"\xff", reason="names are Unicode on this system")
def test_names_that_are_no_text_survive(root: Path) -> None:
    names = ["\udcff\udcfe.txt", "dir-\udce9/inside-\udcfe", "new\nline", "ünïcödé", "\x1b[31m"]
    plant(root, {".gitignore": b"ignored-\xff\n", "ignored-\udcff": "x", **dict.fromkeys(names, "x")})

    files = [file.path for listing in listings(root, EVERYTHING) for file in listing.files]

    for path in files:
        path.encode()  # which a name that keeps bytes as surrogates would not stand
    assert {os.path.relpath(exact_text(path), root) for path in files} == {".gitignore", *names}


@pytest.fixture
def deep_root(root: Path) -> Iterator[Path]:
    """Put 10,000 directories into each other."""
    plant(root, {"a": "x"})
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(10_000):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    yield root
    subprocess.run(["rm", "-rf", root], check=True)  # shutil.rmtree calls itself for each of them


@pytest.mark.slow
@posix
def test_a_tree_deeper_than_a_path_can_be_long_ends_in_a_failure(deep_root: Path) -> None:
    root = deep_root
    result = walked(root)

    assert result.files == {"a"}
    assert list(result.failures.values()) == ["file name too long"]
    assert len(result.directories) > 1000


def test_the_rule_that_decided_about_a_path_can_be_asked_for(root: Path) -> None:
    plant(root, {".gitignore": "build/\n*.log\n!keep.log\n", "build/a/b": "x", "keep.log": "x", "c": "x"})

    def rule_for(name: str) -> tuple[bool, str] | None:
        decision = explain(file_path(root), file_path(root / name), PRIVATE)
        return (decision.is_ignored, decision.rule) if decision else None

    assert rule_for("build/a/b") == (True, ".gitignore:1: build/")
    assert rule_for("keep.log") == (False, ".gitignore:3: !keep.log")
    assert rule_for("sub/x.log") == (True, ".gitignore:2: *.log")
    assert rule_for("c") is None


@posix
def test_a_link_to_a_directory_is_explained_as_the_walk_takes_it(root: Path) -> None:
    plant(root, {".gitignore": "build/\n", "real/": ""})
    (root / "build").symlink_to("real")
    path = file_path(root / "build")

    assert explain(file_path(root), path, EVERYTHING) is None
    assert explain(file_path(root), path, FOLLOWING)
    assert walked(root, FOLLOWING).ignored == {"build": ".gitignore:1: build/"}


def test_rules_that_cannot_be_read_are_said_where_they_would_hold(root: Path) -> None:
    plant(root, {"a": "x", "sub/.dirindexignore": "#" * (MAX_FILE_BYTES + 1), "sub/b": "x", "sub/deep/c": "x"})
    lost = [exact_text(listing.directory) for listing in listings(root, WalkPolicy()) if listing.rules_are_lost]
    assert lost == [str(root / "sub")]


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="needs a file system that is mounted in another")  # noqa: S108
def test_a_directory_where_another_file_system_begins_is_a_mount() -> None:
    mounts = [listing.directory for listing in walk(file_path("/dev"), WalkPolicy()) if listing.is_mount]
    assert "/dev/shm" in mounts  # noqa: S108
    assert "/dev/input" not in mounts
