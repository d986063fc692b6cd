"""Trees of names, dates, kinds of files, links and rules that nobody would make on purpose."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from tortures.fuzz_corpus import some_file
from tortures.fuzz_index import Indexing
from tortures.mutations import mutated, smallest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tortures.fuzz import Round

_N_PLANTS = 60
_SECONDS = 200.0
_SECONDS_TO_HALVE = 120.0
_DATA_INSIDE = 0.2
_DATES = (
    *(0, -1, 1, 2**31 - 1, 2**31, 2**32, -(2**31), 9_223_372_035, 9_223_372_036, 9_223_372_037, 2**34 - 1, 2**36),
    *(-9_223_372_036, -9_223_372_037, -62_135_596_801, 253_402_300_800),
)
_NAMES = (
    *(
        b"a",
        b"A",
        b"e\xcc\x81",
        b"\xc3\xa9",
        b" ",
        b"-",
        b"--",
        b"~",
        b"*",
        b"[a]",
        b"a?b",
        b"\\",
        b"'\"",
        b"a:b",
        b"...",
    ),
    *(
        b".hidden",
        b"\x1b[2J",
        b"\n",
        b"\r",
        b"\t",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xe2\x80\xae",
        b"\xef\xbb\xbf",
        b"\xcd\x8f",
    ),
    *(b"a" * 255, b"\xf0\x9f\x91\xa9" * 63, b"con", b"nul", b"index.lock", b"data.db", b"config.json", b"__pycache__"),
    *(
        b"node_modules",
        b"id_rsa",
        b".env",
        b"CVS",
        b"x.py.orig",
        b"#a#",
        b"$HOME",
        b"%41",
        b"a,b",
        b"{a,b}",
        b"@",
        b"!a",
    ),
)
_RULES = (
    *(
        b"*",
        b"!*",
        b"**",
        b"**/",
        b"/**",
        b"a/**/b",
        b"**/**/**/a",
        b"*a*a*a*a*a*a*b",
        b"[",
        b"[]",
        b"[!]",
        b"[a",
        b"[a-]",
    ),
    *(
        b"[[:alpha:]]",
        b"[[:x:]]",
        b"[z-a]",
        b"[\\]]",
        b"\\",
        b"\\\\",
        b"a\\",
        b"\\ ",
        b"a \\ ",
        b"#",
        b"\\#",
        b"!",
        b"!!a",
        b"\\!a",
    ),
    *(
        b"/",
        b"//",
        b"./a",
        b"../a",
        b"a/",
        b"a//b",
        b"?",
        b"???",
        b"*.md",
        b"!*.py",
        b"\xff",
        b"\0",
        b"\r",
        b" ",
        b"a\tb",
    ),
)
_GIT_SETTINGS = (
    *(b"[core]\n", b"[include]\n\tpath = config\n", b"[include]\n\tpath = ../../rules\n", b"\texcludesFile = ../a\n"),
    *(
        b"\texcludesFile = ~/x\n",
        b"\texcludesFile = ~nobody/x\n",
        b"\texcludesFile = %(prefix)/x\n",
        b"\tworktree = ../..\n",
    ),
    *(b"\tbare = maybe\n", b'[includeIf "gitdir:~/**"]\n\tpath = x\n', b'[includeIf "onbranch:**"]\n\tpath = config\n'),
    *(
        b'[a "b\\"c"]\n',
        b"[a.b]\n",
        b"x = \\\n\n",
        b'y = "',
        b"\tignoreCase\n",
        b"\tignoreCase = 2k\n",
        b"; \0\n",
        b"[core\n",
    ),
    *(b"\trepositoryformatversion = 99\n[extensions]\n\tworktreeConfig = true\n", b"=\n", b"\xef\xbb\xbf[core]\n"),
)


class Plant(NamedTuple):
    """One thing in a tree; it is made of its kind and its number alone, so that any of them can be left out."""

    kind: str
    number: int


def fuzz_trees(this: Round) -> None:
    """Index a tree of some plants, then again with others in the same places."""
    is_inside = this.chance.random() < _DATA_INSIDE
    place = this.place / "all"
    place.mkdir()
    indexing = _indexing(place, is_inside=is_inside)
    for _ in range(2):
        plants = [Plant(this.chance.choice(list(_KINDS)), this.chance.randrange(10**9)) for _ in range(_N_PLANTS)]
        this.count(len(plants))
        _plant_all(indexing.tree, plants)
        if complaint := indexing.complaint(seconds=_SECONDS):
            if this.is_new(complaint):
                _find(this, plants, complaint, is_inside=is_inside)
            break
    _remove(this.place)


def _indexing(place: Path, *, is_inside: bool) -> Indexing:
    tree = place / "tree"
    tree.mkdir()
    return Indexing(place, tree, data_dir=tree / "data" if is_inside else None)


def _find(this: Round, plants: list[Plant], complaint: str, *, is_inside: bool) -> None:
    tried = this.place / "tried"

    def is_broken(some: Sequence[Plant]) -> bool:
        _remove(tried)
        tried.mkdir(parents=True)
        indexing = _indexing(tried, is_inside=is_inside)
        _plant_all(indexing.tree, some)
        return indexing.complaint(seconds=_SECONDS) == complaint

    left = smallest(plants, is_broken, seconds=_SECONDS_TO_HALVE)
    alone = "" if is_broken(left) else " (only after what was there before)"
    listing = subprocess.run(["ls", "-laRb", "--full-time", tried / "tree"], capture_output=True, check=False).stdout  # noqa: S603, S607
    summary = "\n".join(f"{kind} {number}" for kind, number in left)
    where = "the index lies in the tree" if is_inside else ""
    this.broke(f"{complaint}{alone}", name="tree.txt", content=f"{summary}\n{where}\n".encode() + listing[:20_000])


def _plant_all(tree: Path, plants: Sequence[Plant]) -> None:
    for kind, number in plants:
        with contextlib.suppress(OSError):  # two of one name, or a name that this file system does not take
            _KINDS[kind](os.fsencode(tree), random.Random(number))


def _remove(place: Path) -> None:
    # Directories may be closed even to their owner.
    subprocess.run(["chmod", "-R", "u+rwx", place], check=False, capture_output=True)  # noqa: S603, S607
    shutil.rmtree(place, ignore_errors=True)


def _new(tree: bytes, chance: random.Random, suffix: bytes = b"") -> bytes:
    """Choose a name in a directory that is there or not; never one behind a link, which may lead anywhere."""
    directory = tree
    for _ in range(chance.choice((0, 0, 1, 1, 2, 30))):
        directory = os.path.join(directory, _name(chance))
        if os.path.islink(directory):
            raise NotADirectoryError(directory)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory)
    return os.path.join(directory, (_name(chance) + suffix)[-255:])


def _name(chance: random.Random) -> bytes:
    if chance.random() < 0.7:  # noqa: PLR2004
        return chance.choice(_NAMES)
    return bytes(byte for byte in chance.randbytes(chance.randint(1, 40)) if byte not in b"/\0") or b"x"


def _file(tree: bytes, chance: random.Random) -> bytes:
    suffix, content = some_file(chance)
    path = _new(tree, chance, b"." + suffix.encode())
    _write(path, content[:20_000])
    return path


def _write(path: bytes, content: bytes, *, size: int | None = None) -> None:
    # What is there already may be a link, or a pipe that nobody reads.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags, 0o644), "wb") as file:
        file.write(content)
        if size is not None:
            file.truncate(size)


def _dated(tree: bytes, chance: random.Random) -> None:
    seconds = chance.choice(_DATES)
    os.utime(_file(tree, chance), ns=(0, seconds * 10**9 + chance.randrange(10**9)))


def _dated_directory(tree: bytes, chance: random.Random) -> None:
    os.utime(os.path.dirname(_file(tree, chance)), ns=(0, chance.choice(_DATES) * 10**9))


def _closed(tree: bytes, chance: random.Random) -> None:
    path = _file(tree, chance)
    os.chmod(path, chance.choice((0, 0o200, 0o777, 0o4755)))
    if chance.random() < 0.3:  # noqa: PLR2004
        os.chmod(os.path.dirname(path), chance.choice((0o700, 0o500, 0o300)))


def _pipe(tree: bytes, chance: random.Random) -> None:
    os.mkfifo(_new(tree, chance, chance.choice((b"", b".md"))))


def _socket(tree: bytes, chance: random.Random) -> None:
    path = _new(tree, chance)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)


def _link(tree: bytes, chance: random.Random) -> None:
    targets = (b".", b"..", tree, b"a", b"/dev/zero", b"/proc/self/fd/0", b"/", b"x" * 255, b"\xff", b"/proc/self/cwd")
    os.symlink(chance.choice(targets), _new(tree, chance))


def _link_to_itself(tree: bytes, chance: random.Random) -> None:
    path = _new(tree, chance)
    os.symlink(os.path.basename(path), path)


def _hard_link(tree: bytes, chance: random.Random) -> None:
    os.link(_file(tree, chance), _new(tree, chance, b".md"))


def _sparse(tree: bytes, chance: random.Random) -> None:
    path = _new(tree, chance, chance.choice((b".md", b".pdf", b".csv", b"")))
    _write(path, b"# words\n", size=chance.choice((10, 10**6, 9 * 10**6, 10**7 + 485_760, 2**40)))


def _fuzzed(tree: bytes, chance: random.Random) -> None:
    suffix, content = some_file(chance)
    _write(_new(tree, chance, b"." + suffix.encode()), mutated(content[:20_000], b"", chance))


def _rules(tree: bytes, chance: random.Random) -> None:
    content = b"\n".join(chance.choices(_RULES, k=chance.randint(1, 20)))
    if chance.random() < 0.3:  # noqa: PLR2004
        content = mutated(content, b"\n".join(_RULES), chance)
    name = chance.choice((b".gitignore", b".dirindexignore", b".git/info/exclude"))
    path = os.path.join(os.path.dirname(_new(tree, chance)), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _write(path, content)


def _repository(tree: bytes, chance: random.Random) -> None:
    git = os.path.join(os.path.dirname(_new(tree, chance)), b".git")
    os.makedirs(os.path.join(git, b"objects"), exist_ok=True)
    os.makedirs(os.path.join(git, b"refs"), exist_ok=True)
    head = (b"ref: refs/heads/main\n", b"ref: " + b"a" * 5000, b"\xff", b"", b"ref: ../../x\n")
    _write(os.path.join(git, b"HEAD"), chance.choice(head))
    content = b"".join(chance.choices(_GIT_SETTINGS, k=chance.randint(1, 15)))
    if chance.random() < 0.4:  # noqa: PLR2004
        content = mutated(content, b"".join(_GIT_SETTINGS), chance)
    _write(os.path.join(git, b"config"), content)
    if chance.random() < 0.3:  # noqa: PLR2004
        _write(
            os.path.join(git, chance.choice((b"commondir", b"config.worktree"))), chance.choice((b"..", b"\0", content))
        )


def _git_file(tree: bytes, chance: random.Random) -> None:
    targets = (b"gitdir: .", b"gitdir: ../x/.git\n", b"gitdir:", b"gitdir: /dev/zero", b"gitdir: \xff\n", b"x" * 9000)
    _write(os.path.join(os.path.dirname(_new(tree, chance)), b".git"), chance.choice(targets))


def _rules_of_another_kind(tree: bytes, chance: random.Random) -> None:
    path = os.path.join(os.path.dirname(_new(tree, chance)), chance.choice((b".gitignore", b".dirindexignore")))
    make: tuple[Callable[[bytes], None], ...] = (os.mkdir, os.mkfifo, lambda path: os.symlink(path, path))
    chance.choice(make)(path)


_KINDS: dict[str, Callable[[bytes, random.Random], object]] = {
    "file": _file,
    "fuzzed file": _fuzzed,
    "file of an odd date": _dated,
    "directory of an odd date": _dated_directory,
    "closed file": _closed,
    "pipe": _pipe,
    "socket": _socket,
    "link": _link,
    "link to itself": _link_to_itself,
    "hard link": _hard_link,
    "sparse file": _sparse,
    "rules": _rules,
    "rules that are no file": _rules_of_another_kind,
    "repository": _repository,
    "git file": _git_file,
}
