"""No damage to a file of a format with parts breaks its reader: texts, or a refusal with a reason, nothing else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Final

import book_files
import odf_files
import office_files
import ole_files
import winmail_files
from archives import tarred, zipped
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.recognition import format_of

MESSAGE: Final = b"From: Ada <a@b.org>\nSubject: Sea\nDate: Fri, 1 Mar 2024 12:00:00 +0100\n\nThe walrus sleeps.\n"
FILES: Final = {
    "docx": office_files.docx(office_files.paragraph("The walrus sleeps."), related={"comments": "<w:comments/>"}),
    "pptx": office_files.pptx({"a": office_files.shape("Sea", "Ice", placeholder="title")}),
    "odt": odf_files.packed("odt", odf_files.heading(1, "Sea") + odf_files.table(odf_files.row(odf_files.cell("a")))),
    "fodt": odf_files.flat("odt", odf_files.heading(1, "Sea")),
    "epub": book_files.epub({"sea.xhtml": "<h1>Sea</h1><p>The walrus sleeps.</p>"}),
    "fb2": b"<FictionBook><body><section><title><p>Sea</p></title><p>Ice</p></section></body></FictionBook>",
    "rtf": b"{\\rtf1\\ansi {\\b Sea}\\par\\trowd\\cellx1\\cellx2\\intbl a\\cell b\\cell\\row}",
    "doc": ole_files.ole(ole_files.word_stream("Sea\rIce\r")),
    "ppt": ole_files.ole(ole_files.slides_streams("Sea", "Ice")),
    "eml": MESSAGE,
    "mbox": b"From a@b.org Fri Mar  1 12:00:00 2024\n" + MESSAGE,
    "dat": winmail_files.winmail(winmail_files.attribute(1, winmail_files.BODY, b"The walrus sleeps.\0")),
    "ics": b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Sea\nDTSTART:20240301T120000Z\nEND:VEVENT\nEND:VCALENDAR\n",
    "vcf": b"BEGIN:VCARD\nVERSION:3.0\nFN:Ada\nEMAIL:a@b.org\nEND:VCARD\n",
    "srt": b"1\n00:00:01,000 --> 00:00:02,000\nThe walrus sleeps.\n",
    "zip": zipped({"a.md": "# Sea\n", "inner.zip": zipped({"b.md": "Ice\n"})}),
    "tar": tarred({"a.md": "# Sea\n"}),
    "tgz": tarred({"a.md": "# Sea\n"}, "w:gz"),
}
"""A small file of each suffix; those that only libraries in C read are damaged in worker processes elsewhere."""

BYTES: Final = st.binary(max_size=8) | st.sampled_from(
    [b"\xff\xff\xff\xff", b"\0" * 16, b"<", b"</", b"&#0;", b"]]>", b"<!DOCTYPE a>", b"{\\", b"\\bin9 ", b"=?", b"--"]
)
Edit = tuple[int, int, bytes]
"""Where, how many bytes go, and what stands there then."""

EDITS: Final = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 40), BYTES), min_size=1, max_size=5)


def damaged(content: bytes, edits: Sequence[Edit]) -> bytes:
    for start, n_bytes, inserted in edits:
        at = start % (len(content) + 1)
        content = content[:at] + inserted + content[at + n_bytes :]
    return content


def repacked(content: bytes, part: int, edits: Sequence[Edit]) -> bytes:
    """Damage a part of a package, and pack it again with checksums that are right."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as package, zipfile.ZipFile(target, "w") as changed:
        names = package.namelist()
        for number, name in enumerate(names):
            inner = package.read(name)
            changed.writestr(name, damaged(inner, edits) if number == part % len(names) else inner)
    return target.getvalue()


def read(content: bytes, path: str, budget: Budget) -> None:
    kind, file_format = format_of(FilePath(path), content)
    if file_format.open is None:
        file_format.extract(content, kind, budget)
        return
    for member in file_format.open(io.BytesIO(content), kind, budget).members:
        if member.content and budget.depth < 2:
            budget.depth += 1
            try:
                read(member.content, f"{path}!/{member.name}", budget)
            except ExtractionError:
                continue
            finally:
                budget.depth -= 1


@given(st.sampled_from(sorted(FILES)), EDITS)
def test_a_damaged_file_is_read_or_refused(suffix: str, edits: Sequence[Edit]) -> None:
    try:
        read(damaged(FILES[suffix], edits), f"/root/a.{suffix}", Budget())
    except ExtractionError:
        return


@given(st.sampled_from(["docx", "pptx", "odt", "epub", "zip"]), st.integers(0, 20), EDITS)
def test_a_package_with_a_damaged_part_is_read_or_refused(suffix: str, part: int, edits: Sequence[Edit]) -> None:
    try:
        read(repacked(FILES[suffix], part, edits), f"/root/a.{suffix}", Budget())
    except ExtractionError:
        return
