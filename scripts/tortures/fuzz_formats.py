"""Batches of files of every format that is binary or has parts: what chance made of real ones and of small ones."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import book_files
import odf_files
import office_files
import ole_files
import winmail_files
from archives import tarred, zipped
from corpus.sources import MEASURED
from tortures.fuzz_files import FuzzedFile, fuzz_batches
from tortures.mutations import mutated

from directory_indexer.core.paths import file_path
from directory_indexer.formats.recognition import kind_of
from directory_indexer.formats.table import FORMATS

if TYPE_CHECKING:
    import random

    from tortures.fuzz import Round

_MOST_BYTES = 120_000
_MOST_OF_A_KIND = 80
_OTHER_SUFFIX = 0.05
_IN_PARTS = 0.75
_PART_CHANGES = 0.3
_MOST_UNPACKED = 2_000_000


def fuzz_formats(this: Round) -> None:
    """Fuzz files of all these formats, packed ones part by part."""
    fuzz_batches(this, _make)


def _make(this: Round, number: int) -> FuzzedFile:
    chance, seeds = this.chance, _seeds(this.fuzz.torture.corpus)
    kind = chance.choice(sorted(seeds))
    content, other = chance.choice(seeds[kind]), chance.choice(seeds[chance.choice(sorted(seeds))])
    suffix = FORMATS[chance.choice(MEASURED) if chance.random() < _OTHER_SUFFIX else kind].suffixes.split()[0]
    repacked = _repacked(content, other, chance) if chance.random() < _IN_PARTS else None
    return FuzzedFile(f"{number:03}.{suffix}", repacked or mutated(content, other, chance))


def _repacked(content: bytes, other: bytes, chance: random.Random) -> bytes | None:
    """Change some parts of a package and pack it again, so that its checksums are right; None where it is none."""
    target = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package, zipfile.ZipFile(target, "w") as changed:
            if sum(part.file_size for part in package.infolist()) > _MOST_UNPACKED:
                return None
            for part in package.infolist():
                inner = package.read(part)
                if chance.random() < _PART_CHANGES:
                    inner = mutated(inner, other, chance)
                changed.writestr(part.filename, inner, chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
        return None
    return target.getvalue()


@cache
def _seeds(corpus: Path | None) -> dict[str, list[bytes]]:
    """Return contents by kind: those of a corpus that are small, and one or more of most kinds that are made here."""
    contents_by_kind: dict[str, list[bytes]] = {kind: list(contents) for kind, contents in _made().items()}
    for path in sorted(corpus.rglob("*.*")) if corpus else ():
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            content = path.read_bytes()
            of_kind = contents_by_kind.setdefault(kind_of(file_path(path), content), [])
            if len(of_kind) < _MOST_OF_A_KIND:
                of_kind.append(content)
    return {kind: contents for kind, contents in contents_by_kind.items() if kind in MEASURED and contents}


def _made() -> dict[str, list[bytes]]:
    paragraph, heading = office_files.paragraph("The walrus sleeps."), odf_files.heading(1, "One")
    message = b"From: Ada <a@b.org>\nSubject: One\nDate: Fri, 1 Mar 2024 12:00:00 +0100\n\nThe walrus sleeps.\n"
    attached = winmail_files.attachment(
        winmail_files.attribute(2, winmail_files.TITLE, b"a.md\0"),
        winmail_files.attribute(2, winmail_files.DATA, b"One"),
    )
    row = odf_files.table(odf_files.row(odf_files.cell("a"), odf_files.cell("b")))
    return {
        "docx": [
            office_files.docx(paragraph * 3, related={"comments": "<w:comments/>", "footnotes": "<w:footnotes/>"})
        ],
        "pptx": [office_files.pptx({"a": office_files.shape("One", "Two", placeholder="title")})],
        "xlsx": [office_files.xlsx({"Budget": office_files.cells(1, A="Rent", B="12") * 3})],
        "odt": [odf_files.packed("odt", heading + row), odf_files.flat("odt", heading)],
        "ods": [odf_files.packed("ods", row)],
        "odp": [
            odf_files.packed("odp", f"<draw:page draw:name='p'>{odf_files.frame('One', role='title')}</draw:page>")
        ],
        "epub": [book_files.epub({"one.xhtml": "<h1>One</h1><p>The walrus sleeps.</p>"})],
        "fictionbook": [
            b"<FictionBook><body><section><title><p>One</p></title><p>Two</p></section></body></FictionBook>"
        ],
        "rtf": [b"{\\rtf1\\ansi {\\b One}\\par\\trowd\\cellx1\\cellx2\\intbl a\\cell b\\cell\\row}"],
        "doc": [ole_files.ole(ole_files.word_stream("One\rTwo\r"))],
        "ppt": [ole_files.ole(ole_files.slides_streams("One", "Two"))],
        "xls": [ole_files.ole({"Workbook": ole_files.workbook_stream("Budget", {(0, 0): "Rent", (0, 1): 12.0})})],
        "email": [message],
        "tnef": [
            winmail_files.winmail(winmail_files.attribute(1, winmail_files.BODY, b"The walrus sleeps.\0"), attached)
        ],
        "mbox": [b"From a@b.org Fri Mar  1 12:00:00 2024\n" + message],
        "calendar": [
            b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:One\nDTSTART:20240301T120000Z\nEND:VEVENT\nEND:VCALENDAR\n"
        ],
        "contacts": [b"BEGIN:VCARD\nVERSION:3.0\nFN:Ada\nEMAIL:a@b.org\nEND:VCARD\n"],
        "subtitles": [b"1\n00:00:01,000 --> 00:00:02,000\nThe walrus sleeps.\n"],
        "zip": [zipped({"a.md": "# One\n", "inner.zip": zipped({"b.md": "Two\n"})})],
        "tar": [tarred({"a.md": "# One\n"})],
        "gzip": [tarred({"a.md": "# One\n"}, "w:gz")],
        "bzip2": [tarred({"a.md": "# One\n"}, "w:bz2")],
        "xz": [tarred({"a.md": "# One\n"}, "w:xz")],
    }
