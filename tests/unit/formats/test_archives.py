"""Members of archives, by their names, up to any damage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING

import pytest
from archives import zipped

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.archives import open_bzip2, open_gzip, open_xz, open_zip
from directory_indexer.formats.containers import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from directory_indexer.formats.containers import Contents, Member

LINES = "".join(f"line {number}\n" for number in range(300)).encode()


def named(names: Iterable[bytes], extra: bytes = b"") -> bytes:
    """Write an archive whose names are in an encoding that it does not tell."""
    target = io.BytesIO()
    stand_ins = {f"{number:x}".rjust(len(name), "_"): name for number, name in enumerate(names)}
    with zipfile.ZipFile(target, "w") as archive:
        for stand_in in stand_ins:
            info = zipfile.ZipInfo(stand_in)
            info.extra = extra
            archive.writestr(info, b"text")
    content = target.getvalue()
    for stand_in, name in stand_ins.items():
        content = content.replace(stand_in.encode(), name)
    return content


def names_in(content: bytes) -> list[str]:
    return [member.name for member in open_zip(io.BytesIO(content), "zip", Budget()).members]


def members_of(contents: Contents) -> tuple[list[Member], ExtractionError | None]:
    members: list[Member] = []
    try:
        members.extend(contents.members)
    except ExtractionError as error:
        return members, error
    return members, None


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("utf-8", ["Größe/Übersicht.txt"]),
        ("cp437", ["Übersicht.txt", "Müller/Rechnung für März.pdf", "naïve.txt"]),
        ("cp850", ["São Paulo.txt", "Ação.doc"]),
        ("cp866", ["Отчёт/Смета.txt", "ДОГОВОР", "plain.txt"]),
        ("cp932", ["新しいフォルダ/会議ソ資料.txt", "写真.jpg"]),
        ("gb18030", ["新建文件夹/报告.txt", "会议资料.docx"]),
        ("cp949", ["새 폴더/보고서.txt", "회의 자료.docx"]),
        ("cp1251", ["Отчёт/Смета.txt"]),
        ("cp1252", ["Übersicht.txt", "Größe für Müller"]),
    ],
)
def test_names_are_read_in_the_encoding_of_the_system_that_wrote_them(encoding: str, names: list[str]) -> None:
    assert names_in(named(name.encode(encoding) for name in names)) == names


def test_a_name_in_unicode_beside_another_counts_if_it_is_of_that() -> None:
    short, whole = b"estimate ?????", "Смета".encode()
    for of, expected in ((short, "Смета"), (b"another", short.decode())):
        extra = struct.pack("<HHBL", 0x7075, 5 + len(whole), 1, zlib.crc32(of)) + whole
        assert names_in(named([short], extra)) == [expected]


def test_an_archive_without_its_end_has_the_members_before_that() -> None:
    content = zipped({"folder/": "", "Grüße.txt": "one", "b.txt": LINES})
    for n_lost, n_whole in ((80, 2), (300, 1)):
        members, damage = members_of(open_zip(io.BytesIO(content[:-n_lost]), "zip", Budget()))
        assert [member.name for member in members] == ["Grüße.txt", "b.txt"]
        assert members[0].content == b"one"
        assert (members[1].content == LINES) == (n_whole > 1)
        assert isinstance(damage, ExtractionError)
    with pytest.raises(ExtractionError):
        open_zip(io.BytesIO(b"PK\3\4 and no more"), "zip", Budget())


@pytest.mark.parametrize(
    ("packed", "open_packed"), [(gzip.compress(LINES), open_gzip), (lzma.compress(LINES, preset=0), open_xz)]
)
def test_of_a_file_that_is_cut_off_what_comes_before_is_read(
    packed: bytes, open_packed: Callable[[io.BytesIO, str, Budget], Contents]
) -> None:
    members, damage = members_of(open_packed(io.BytesIO(packed[: len(packed) * 2 // 3]), "", Budget()))
    assert LINES.startswith(members[0].content)
    assert members[0].content.endswith(b"\n") or len(members[0].content) > 20
    assert isinstance(damage, ExtractionError)


@pytest.mark.parametrize(
    ("packed", "open_packed"), [(gzip.compress(LINES), open_gzip), (bz2.compress(LINES), open_bzip2)]
)
def test_what_follows_a_whole_file_costs_nothing_of_it(
    packed: bytes, open_packed: Callable[[io.BytesIO, str, Budget], Contents]
) -> None:
    members, _ = members_of(open_packed(io.BytesIO(packed + b"other bytes"), "", Budget()))
    assert [member.content for member in members] == [LINES]


def test_what_has_nothing_before_its_damage_is_damaged() -> None:
    with pytest.raises(ExtractionError, match="is damaged"):
        open_gzip(io.BytesIO(gzip.compress(LINES)[:12]), "", Budget())
