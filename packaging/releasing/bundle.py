"""The bundle for Claude Desktop (`.mcpb`): the manifest and the package, which uv installs where it is opened."""

from __future__ import annotations

import subprocess
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

_MANIFEST = "packaging/manifest.json"
_BESIDE_THE_PACKAGE = ("pyproject.toml", "README.md", "LICENSE", "THIRD_PARTY.md")


def bundled_files(root: Path) -> list[str]:
    """Name the files of the repository that a bundle holds: what is committed of the package, and what describes it."""
    command = ("git", "-C", str(root), "ls-files", "-z", "directory_indexer", *_BESIDE_THE_PACKAGE)
    completed = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - the words are ours
    return sorted(filter(None, completed.stdout.split("\0")))


def write_bundle(root: Path, files: Iterable[str], bundle: Path, seconds: int) -> None:
    """Pack the manifest and files, the same bytes whoever packs them and when."""
    members = {"manifest.json": _MANIFEST, **{name: name for name in files}}
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            member.compress_type, member.external_attr, member.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(member, (root / members[name]).read_bytes())
