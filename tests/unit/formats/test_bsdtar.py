"""RAR archives and cabinets are read through bsdtar, where it is installed, and are told to need it where not."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from typing import TYPE_CHECKING

import pytest
from archives import tarred

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.bsdtar import open_with_bsdtar
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.limited_program import find_program

if TYPE_CHECKING:
    from pathlib import Path

    from directory_indexer.formats.containers import Member

HEADER = b"Rar!\x1a\7\1\0"
MEMBERS = {"reports/moon.md": "the moorhen nests", "Größe.txt": "the coot dives"}


def members(content: bytes, budget: Budget | None = None) -> list[Member]:
    return list(open_with_bsdtar(io.BytesIO(content), "rar", budget or Budget()).members)


@pytest.fixture
def bsdtar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in on the path, for which an archive is a header and a tar stream."""
    if sys.platform == "win32":
        pytest.skip("the stand-in is a shell script")
    program = tmp_path / "bsdtar"
    program.write_text('#!/bin/sh\n[ "$*" = "--format=pax -cf - @-" ] || exit 2\nexec tail -c +9\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def failing_bsdtar(tmp_path: Path, bsdtar: None) -> None:  # noqa: ARG001 - it replaces it
    (tmp_path / "bsdtar").write_text("#!/bin/sh\ntail -c +9\nexit 1\n")


@pytest.mark.usefixtures("bsdtar")
def test_members_are_read_from_the_stream_of_bsdtar() -> None:
    unpacked = members(HEADER + tarred(MEMBERS))
    assert {member.name: member.content.decode() for member in unpacked} == MEMBERS


@pytest.mark.usefixtures("bsdtar")
def test_what_begins_as_another_kind_never_reaches_bsdtar(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("the heron's own")
    listing = f"#mtree\n./x type=file contents={tmp_path / 'private'}\n".encode()
    with pytest.raises(ExtractionError, match="neither a RAR archive nor a cabinet"):
        members(listing)


@pytest.mark.usefixtures("failing_bsdtar")
def test_a_damaged_archive_has_the_members_before_the_damage() -> None:
    whole = tarred(MEMBERS)
    unpacked: list[Member] = []
    with pytest.raises(ExtractionError, match="damaged, encrypted, or compressed"):
        unpacked.extend(open_with_bsdtar(io.BytesIO(HEADER + whole[:1300]), "rar", Budget()).members)
    assert unpacked[0].name == "reports/moon.md"


@pytest.mark.usefixtures("bsdtar")
def test_an_archive_that_unpacks_to_too_much_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "bsdtar").write_text("#!/bin/sh\nexec /usr/bin/env head -c 9000000 /dev/zero\n")
    with pytest.raises(SkipFileError, match="more than the size limit") as raised:
        members(HEADER)
    assert raised.value.reason is SkipReason.TOO_LARGE


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path))
    with pytest.raises(SkipFileError, match="RAR archive: to read it, install bsdtar"):
        members(HEADER)


def stored_rar(members: dict[str, str]) -> bytes:
    """Return a RAR archive (version 4) of members that are stored as they are."""

    def block(kind: int, flags: int, fields: bytes, content: bytes = b"") -> bytes:
        head = struct.pack("<BHH", kind, flags, 7 + len(fields)) + fields
        return struct.pack("<H", zlib.crc32(head) & 0xFFFF) + head + content

    archive = b"Rar!\x1a\7\0" + block(0x73, 0, bytes(6))
    for name, text in members.items():
        content, written = text.encode(), name.encode()
        sizes = struct.pack("<IIB", len(content), len(content), 3)
        about = struct.pack("<IIBBHI", zlib.crc32(content), 0x58210000, 20, 0x30, len(written), 0o100644)
        archive += block(0x74, 0x8000, sizes + about + written, content)
    return archive + block(0x7B, 0x4000, b"")


def stored_cabinet(members: dict[str, str]) -> bytes:
    """Return a cabinet of members that are stored as they are, in one block of one folder."""
    content = "".join(members.values()).encode()
    entries, offset = b"", 0
    for name, text in members.items():
        size = len(text.encode())
        entries += struct.pack("<IIHHHH", size, offset, 0, 0x5821, 0, 0x20) + name.encode() + b"\0"
        offset += size
    files_at = 36 + 8
    block_at = files_at + len(entries)
    total = block_at + 8 + len(content)
    head = struct.pack("<4sIIIIIBBHHHHH", b"MSCF", 0, total, 0, files_at, 0, 3, 1, 1, len(members), 0, 0, 0)
    return (
        head
        + struct.pack("<IHH", block_at, 1, 0)
        + entries
        + struct.pack("<IHH", 0, len(content), len(content))
        + content
    )


@pytest.mark.skipif(not find_program("bsdtar"), reason="bsdtar is not installed")
@pytest.mark.parametrize("pack", [stored_rar, stored_cabinet])
def test_the_real_bsdtar_reads_archives(pack: object) -> None:
    texts = {"moon.md": "the moorhen nests", "sun.md": "the coot dives"}
    assert {member.name: member.content.decode() for member in members(pack(texts))} == texts  # type: ignore[operator]
    with pytest.raises(ExtractionError):
        members(pack(texts)[:-40])  # type: ignore[operator]
