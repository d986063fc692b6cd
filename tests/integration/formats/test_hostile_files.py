"""Hostile files, made to cost more than their size: each is read in a worker process with little memory and time."""

from __future__ import annotations

import io
import struct
import sys
from typing import TYPE_CHECKING, Final

import pytest
from archives import tarred, zipped
from book_files import epub
from odf_files import cell, flat, packed, paragraph, row, table
from office_files import cells, docx, pptx, run, shape, xlsx
from office_files import paragraph as words
from ole_files import ole, slides_streams, workbook_stream
from outcomes import Outcomes, outcomes_of
from transcripts import codex, compressed

from directory_indexer.core.files import SkipReason
from directory_indexer.parsing.tasks import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIMITS: Final = Limits(seconds=30.0, memory_bytes=512 << 20, clock_seconds=600.0)
LAUGHS: Final = "<!DOCTYPE a [<!ENTITY a0 'ha'>" + "".join(
    f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10)
)
FOREIGN: Final = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"
BOMB: Final = "a" * 40_000_000
ENTITY: Final = "declares an XML entity"


@pytest.fixture
def outcome(tmp_path: Path) -> Callable[[str, bytes], Outcomes]:
    """Write a file and parse it; whatever it comes to, the worker lives on."""

    def parse(name: str, content: bytes) -> Outcomes:
        path = tmp_path / name
        path.write_bytes(content)
        outcomes = outcomes_of(path, LIMITS)
        assert not [message for message in outcomes.failures.values() if "process" in message or "memory" in message]
        return outcomes

    return parse


def with_main(content: str) -> bytes:
    return docx("", {"word/document.xml": content})


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bomb.docx", lambda: docx(words(BOMB))),
        ("bomb.pptx", lambda: pptx({"a": shape(BOMB)})),
        ("bomb.xlsx", lambda: xlsx({"a": cells(1, A=BOMB)})),
        ("bomb.odt", lambda: packed("odt", paragraph(BOMB))),
        ("bomb.ods", lambda: packed("ods", table(row(cell(BOMB))))),
        ("bomb.epub", lambda: epub({"one.xhtml": f"<p>{BOMB}</p>"})),
    ],
)
def test_what_unpacks_to_much_more_than_it_is_costs_no_memory(
    name: str, make: Callable[[], bytes], outcome: Callable[[str, bytes], Outcomes]
) -> None:
    result = outcome(name, make())
    assert set(result.skipped.values()) == {SkipReason.TOO_LARGE}
    assert result.texts == {}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("laughs.docx", lambda: with_main(f"{LAUGHS}]><w:document><w:p>{run('&a9;')}</w:p></w:document>")),
        ("xxe.docx", lambda: with_main(f"{FOREIGN}<w:document><w:p>{run('&x;')}</w:p></w:document>")),
        ("laughs.xlsx", lambda: xlsx({"a": ""}, {"xl/workbook.xml": f"{LAUGHS}]><workbook>&a9;</workbook>"})),
        ("laughs.pptx", lambda: pptx({}, {"ppt/presentation.xml": f"{LAUGHS}]><p>&a9;</p>"})),
        ("laughs.odt", lambda: packed("odt", "", {"content.xml": f"{LAUGHS}]><a>&a9;</a>"})),
        ("laughs.fodt", lambda: flat("odt", paragraph("&a9;")).replace(b"?>", f"?>{LAUGHS}]>".encode(), 1)),
        ("laughs.fb2", f"{LAUGHS}]><FictionBook><body><p>&a9;</p></body></FictionBook>".encode),
    ],
)
def test_entities_are_refused_before_they_stand_for_anything(
    name: str, make: Callable[[], bytes], outcome: Callable[[str, bytes], Outcomes]
) -> None:
    result = outcome(name, make())
    assert result.texts == {}
    assert ENTITY in result.failures[""]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("deep.docx", lambda: docx("<w:p>" * 300_000 + run("walrus"))),
        ("deep.odt", lambda: packed("odt", "<text:section>" * 300_000 + paragraph("walrus"))),
        ("deep.fb2", lambda: b"<FictionBook><body>" + b"<section>" * 300_000 + b"<p>walrus</p>"),
        ("deep.rtf", lambda: b"{\\rtf1 " + b"{" * 300_000 + b"walrus"),
        ("deep.eml", lambda: b"Subject: a\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n" * 100_000),
    ],
)
def test_depth_has_an_end(name: str, make: Callable[[], bytes], outcome: Callable[[str, bytes], Outcomes]) -> None:
    result = outcome(name, make())
    assert len(result.texts) + len(result.failures) + len(result.skipped) >= 1
    assert all("Recursion" not in message for message in result.failures.values())


def test_a_sheet_of_two_cells_far_apart_is_two_cells(outcome: Callable[[str, bytes], Outcomes]) -> None:
    far = '<row r="1048576"><c r="XFD1048576" t="str"><v>walrus</v></c></row>'
    [text] = outcome("sparse.xlsx", xlsx({"a": cells(1, A="okapi") + far})).texts.values()
    assert "okapi" in text
    assert "walrus" in text
    assert len(text) < 10_000


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system gives memory that is not there")
def test_a_sheet_of_before_2007_with_two_cells_far_apart_costs_its_worker(tmp_path: Path) -> None:
    path = tmp_path / "sparse.xls"
    path.write_bytes(ole({"Workbook": workbook_stream("a", {(0, 0): "okapi", (65_535, 255): "walrus"})}))
    assert outcomes_of(path, LIMITS).failures == {"": "ended the process that read it (SIGABRT)"}


def test_a_wide_sheet_is_read_or_is_too_large(outcome: Callable[[str, bytes], Outcomes]) -> None:
    wide = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="XFD{n}"><v>2</v></c></row>' for n in range(1, 20_001))
    result = outcome("wide.xlsx", xlsx({"a": wide}))
    assert result.failures == {}
    assert sum(map(len, result.texts.values())) < 5_000_000


def test_repeated_cells_and_rows_are_not_written_out(outcome: Callable[[str, bytes], Outcomes]) -> None:
    repeated = row(
        cell("walrus", 'table:number-columns-repeated="1000000000"'), attributes='table:number-rows-repeated="1000000"'
    )
    [text] = outcome("repeat.ods", packed("ods", table(repeated * 50))).texts.values()
    assert "walrus" in text
    assert len(text) < 100_000


def test_archives_in_archives_that_unpack_to_100_gb_end(outcome: Callable[[str, bytes], Outcomes]) -> None:
    archive = zipped({f"{n}.txt": b"a" * 9_000_000 for n in range(4)})
    for _ in range(3):
        archive = zipped({f"{n}.zip": archive for n in range(16)})
    result = outcome("nested.zip", archive)
    assert SkipReason.TOO_LARGE in result.skipped.values()
    assert sum(map(len, result.texts.values())) < 256_000_000


def test_members_have_a_number(outcome: Callable[[str, bytes], Outcomes]) -> None:
    result = outcome("many.zip", zipped({f"{n}": b"" for n in range(5_000)}))
    assert len(result.skipped) == 5_000
    assert set(result.skipped.values()) == {SkipReason.EMPTY}


def test_no_name_of_a_member_leads_anywhere(outcome: Callable[[str, bytes], Outcomes]) -> None:
    names = ["../../evil.md", "/etc/evil.md", "C:\\evil.md", "..\\evil.md", "a!/evil.md", "./evil.md", "e\u202evil.md"]
    result = outcome("names.tar", tarred(dict.fromkeys(names, "The walrus sleeps.\n")))
    assert len(result.texts) == len(names) + 1
    assert not [name for name in result.texts if ".." in name.split("/") or "\\" in name or "//" in name]


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_directories_of_slides_that_name_each_other_end(at: int, outcome: Callable[[str, bytes], Outcomes]) -> None:
    streams = slides_streams("One", "Two")
    main = bytearray(streams["PowerPoint Document"])
    edit = main.rindex(b"\xf5\x0f") - 2
    main[edit + 16 + 4 * (at % 3) : edit + 20 + 4 * (at % 3)] = (edit if at < 3 else 0).to_bytes(4, "little")
    result = outcome("cycle.ppt", ole({**streams, "PowerPoint Document": bytes(main)}))
    assert result.texts[""].split() == ["One", "Two"]


def test_a_property_that_claims_four_billion_values_has_none(outcome: Callable[[str, bytes], Outcomes]) -> None:
    claimed = struct.pack("<III", 0x1000 | 0x33, 0xFFFFFFFF, 0)
    section = struct.pack("<IIII", 28, 1, 2, 16) + claimed
    streams = {**slides_streams("One"), "\x05SummaryInformation": bytes(44) + struct.pack("<I", 48) + section}
    assert outcome("values.ppt", ole(streams)).texts[""].strip() == "One"


def test_an_archive_whose_list_of_members_is_encrypted_is_encrypted(outcome: Callable[[str, bytes], Outcomes]) -> None:
    py7zr = pytest.importorskip("py7zr")
    target = io.BytesIO()
    with py7zr.SevenZipFile(target, "w", password="walrus", header_encryption=True) as archive:  # noqa: S106 - no secret
        archive.writestr("The walrus sleeps.", "a.md")
    assert outcome("a.7z", target.getvalue()).skipped == {"": SkipReason.ENCRYPTED}


def test_what_zstandard_compressed_is_one_file_or_an_archive(outcome: Callable[[str, bytes], Outcomes]) -> None:
    record = codex(
        (("user", "Where does the walrus sleep?"), ("assistant", "On the ice.")), session="s", day="2026-03-01"
    )
    session = outcome("rollout.jsonl.zst", compressed(record))
    assert "On the ice." in session.texts["!/rollout.jsonl"]
    archive = outcome("notes.tar.zst", compressed(tarred({"a.md": "The walrus sleeps.\n"})))
    assert archive.texts["!/a.md"] == "The walrus sleeps.\n"


def test_what_zstandard_compressed_may_be_damaged_or_a_bomb(outcome: Callable[[str, bytes], Outcomes]) -> None:
    packed = compressed(b"The walrus sleeps.\n" * 1000)
    assert "damaged" in outcome("cut.txt.zst", packed[:-8]).failures[""]
    assert "damaged" in outcome("odd.txt.zst", packed[:6] + bytes(40)).failures[""]
    assert outcome("bomb.txt.zst", compressed(bytes(300_000_000))).skipped
