from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from trees import plant, plant_repository, walked

from directory_indexer.walk import WalkPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = [
    *"abcA-]",
    "ab",
    "ba",
    "aab",
    "a.b",
    "x.log",
    "b.log",
    "a b",
    "ä",
    "é.log",
    "!a",
    "#a",
    "a*",
    "[a]",
    " a",
    "a ",
]
_PIECES = [
    *("a", "b", "*", "?", "**", "/", "/", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a-]", r"[\]]", "[[:alpha:]]"),
    *("\\", r"\a", r"\*", "[", "]", ".log", ".", "-", "!", "#", " ", "ä", "A"),
]
_lines = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "!"]),
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join),
    st.sampled_from(["", "", "/", " ", "\r"]),
)
# What git makes of stars behind a literal is not what it documents, and not what is done here.
_ignore_files = st.lists(
    _lines.filter(lambda line: not re.search(r"[^/*]\*\*+(/|\s*$)", line.removeprefix("!"))), max_size=5
).map("\n".join)
_directories = st.lists(st.sampled_from(_NAMES), max_size=3).map(lambda names: "".join(f"{name}/" for name in names))
_files = st.builds("{}{}".format, _directories, st.sampled_from(_NAMES))
_trees = st.lists(_files, min_size=1, max_size=12)
_rules = st.dictionaries(_directories.map(lambda name: f"{name}.gitignore"), _ignore_files, max_size=4)


def _plant(root: Path, names: list[str], rules: dict[str, str]) -> None:
    """Write what fits: a name can be that of a file in one path and of a directory in another."""
    for name, content in [*((name, "x") for name in names), *rules.items()]:
        if not any((root / parent).is_file() for parent in Path(name).parents) and not (root / name).is_dir():
            plant(root, {name: content})


def _paths(root: Path, *, leave_out: set[str]) -> Iterator[str]:
    """List all paths below the root; what is left out is listed but not what lies in it."""
    for directory, directories, files in os.walk(root):
        here = Path(directory).relative_to(root)
        yield from (str(here / name) for name in (*directories, *files))
        directories[:] = [name for name in directories if str(here / name) not in leave_out]


def _ignored_by_git(root: Path, paths: list[str]) -> dict[str, str]:
    """Ask git which paths it ignores, and for each by which file and line."""
    run = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z", "--verbose", "--non-matching"],
        cwd=root,
        input=b"\0".join(map(os.fsencode, paths)),
        capture_output=True,
        check=False,
    )
    fields = [os.fsdecode(field) for field in run.stdout.split(b"\0")[:-1]]
    answers = zip(*(fields[start::4] for start in range(4)), strict=True)
    return {
        path: f"{source}:{line}:" for source, line, pattern, path in answers if source and not pattern.startswith("!")
    }


@settings(max_examples=settings().max_examples, deadline=None)
@given(names=_trees, rules=_rules, exclude=_ignore_files, user=_ignore_files)
def test_the_walk_leaves_out_what_git_ignores_and_names_the_same_rule(
    names: list[str], rules: dict[str, str], exclude: str, user: str
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = plant_repository(Path(directory).resolve(), {".git/info/exclude": exclude})
        plant(Path.home() / ".config" / "git", {"ignore": user})
        _plant(root, names, rules)
        result = walked(root)
        paths = [path for path in _paths(root, leave_out={".git", *result.ignored}) if path not in result.failures]
        paths.remove(".git")
        of_git = _ignored_by_git(root, paths)

        # What is a directory that git does not ignore has a listing of its own.
        assert {path for path in paths if path in result.ignored} == set(of_git)
        for path, place in of_git.items():
            assert result.ignored[path].startswith(place)


_EVERY_KIND = [".env", "id_rsa", ".hidden", "empty", "large", "plain", ".gitignore", ".dirindexignore", "ä"]


@settings(max_examples=2 * settings().max_examples, deadline=None)
@given(
    names=st.lists(st.builds("{}{}".format, _directories, st.sampled_from(_EVERY_KIND)), max_size=12),
    links=st.dictionaries(st.sampled_from(["l1", "l2", "a/l3", "b/l4"]), st.sampled_from([".", "a", "b", "x", "../a"])),
    rules=_rules,
    policy=st.builds(
        WalkPolicy,
        ignore_patterns=st.sampled_from([(), ("a",), ("!.hidden", "b/")]),
        respect_gitignore=st.booleans(),
        include_hidden=st.booleans(),
        include_secrets=st.booleans(),
        follow_symlinks=st.booleans(),
        max_file_size=st.just(3),
        streamed=st.sampled_from([(), ("e",)]),
        own=st.just(()),
    ),
)
def test_each_path_is_told_exactly_once(
    names: list[str], links: dict[str, str], rules: dict[str, str], policy: WalkPolicy
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        _plant(root, names, rules)
        for name in names:
            if (root / name).is_file():
                (root / name).write_text({"empty": "", "large": "1234"}.get(Path(name).name, "!a"))
        for link, target in links.items():
            if (root / link).parent.is_dir():
                (root / link).symlink_to(target)
        result = walked(root, policy)
        # A link that turns out to lead to what is listed already has a listing that says so.
        listed = [path for path in result.directories if path not in result.skipped]
        told = [*result.files, *result.skipped, *result.ignored, *result.failures, *listed]
        told.remove(".")
        in_place = [path for path in told if not any((root / part).is_symlink() for part in Path(path).parents)]

        assert sorted(told) == sorted(set(told))
        assert sorted(in_place) == sorted(_paths(root, leave_out=set(result.ignored)))
