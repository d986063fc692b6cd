"""Builds archives in memory."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    """Pack members into a ZIP archive, in the order that they are given."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 3, 1, 12, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def tarred(members: Mapping[str, bytes | str], mode: str = "w") -> bytes:
    """Pack members into a tar archive, compressed as the mode says."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            data = content.encode() if isinstance(content, str) else content
            info.size, info.mtime = len(data), 1_709_294_400
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()
