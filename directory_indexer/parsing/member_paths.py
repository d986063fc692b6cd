"""Paths of the members of a container: `reports.zip!/2024/budget.xlsx`. Names in a container are untrusted."""

from __future__ import annotations

import os
import re
from collections import Counter

from directory_indexer.credentials.redaction import redact
from directory_indexer.extractors.members import Member
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.paths import FilePath, file_path, members_directory, os_path, prefix_of

_SEPARATORS = re.compile(r"[/\\]+")
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
_MAX_NAME = 200
_MAX_PARTS = 40
_UNNAMED = "unnamed"


class MemberPaths:
    """The paths of all members of one file on disk: unique, and different from all paths on disk."""

    def __init__(self) -> None:
        self._n_uses: Counter[str] = Counter()

    def within(self, container: FilePath) -> FilePath:
        """Return the path of the virtual directory of a container's members.

        If a directory of this name exists on disk, another name is used.
        """
        directory = members_directory(container)
        while os.path.lexists(os_path(directory)):
            directory = members_directory(directory)
        return directory

    def path_of(self, name: str, directory: FilePath) -> FilePath:
        """Return a safe and unique path for a member."""
        path = prefix_of(directory) + file_path(harmless(name).replace("/", os.sep))
        self._n_uses[path] += 1
        if self._n_uses[path] == 1:
            return FilePath(path)
        stem, suffix = os.path.splitext(path)
        return self.path_of(f"{stem[len(prefix_of(directory)) :]} ({self._n_uses[path]}){suffix}", directory)


def name_of(member: Member, container: FilePath, policy: ParsePolicy) -> str:
    """Return the name of a member with its secrets masked; an unnamed one is called as its container."""
    name = member.name or os.path.splitext(os.path.basename(container))[0]
    return name if policy.include_secrets else redact(name)[0]


def harmless(name: str) -> str:
    """Return a safe relative path: without drive, root, `..` or control characters, and of bounded length."""
    parts = [_CONTROL.sub("\ufffd", part) for part in _SEPARATORS.split(name)]
    if parts and _DRIVE.fullmatch(parts[0]):
        parts = parts[1:]
    kept = [_shortened(part) for part in parts if part.strip(". ")]
    return "/".join(kept[-_MAX_PARTS:]) or _UNNAMED


def _shortened(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    stem, suffix = os.path.splitext(name)
    suffix = suffix[:20]
    return stem[: _MAX_NAME - len(suffix)] + suffix
