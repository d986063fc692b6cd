"""Files like those with which other readers had problems, as reported in public: each is read as it was meant."""

from __future__ import annotations

import base64
import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import pymupdf
import pytest
from indexes import OCR_OFF
from phrases import WholeFiles, has_phrase, text_of

from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.paths import file_path
from directory_indexer.ocr.engine_selection import OcrSettings
from directory_indexer.search.file_texts import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indexes import Index


class Expected(TypedDict):
    found: list[str]
    absent: list[str]


DATA = Path(__file__).parent.parent / "data"


def expected(name: str) -> dict[str, Expected]:
    texts: dict[str, Expected] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return texts


FILES, SCANS = expected("reported_files"), expected("reported_scans")


def indexed(name: str, place: Path, ocr: OcrSettings) -> WholeFiles:
    with zipfile.ZipFile(DATA / f"{name}.zip") as archive:
        archive.extractall(place / "files")
    index = WholeFiles(place / "files", place / "data", ocr=ocr, max_file_size=10_000_000)
    index.run()
    return index


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeFiles]:
    index = indexed("reported_files", tmp_path_factory.mktemp("files"), OCR_OFF)
    yield index
    index.close()


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeFiles]:
    index = indexed("reported_scans", tmp_path_factory.mktemp("scans"), OcrSettings())
    yield index
    index.close()


def differences(index: WholeFiles, name: str, case: Expected) -> tuple[list[str], list[str]]:
    """Return the phrases that are not found in a file, and the texts in it that must not be there."""
    text = text_of(index, name)
    missing = [phrase for phrase in case["found"] if not has_phrase(index, name, phrase)]
    return missing, [part for part in case["absent"] if part in text]


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_its_phrases_and_nothing_else(files: WholeFiles, name: str) -> None:
    assert differences(files, name, FILES[name]) == ([], [])


WITHOUT_TEXT = {
    "arch/encrypted.zip": "encrypted, it needs a password",
    "arch/notes.tar.lz": "unknown binary format",
    "arch/part.zip.002": "part of a split archive: join the parts to index what is in it",
    "arch/tar.Z": "unknown binary format",
    "office/plain_notes.wpd": "unknown binary format",
    "pdf/enc_user.pdf": "encrypted, needs a password",
    "pdf/many_pages_empty.pdf": "no text layer; 1 page",
}


@pytest.mark.parametrize(("name", "reason"), WITHOUT_TEXT.items())
def test_a_file_without_text_is_listed_with_its_reason(files: WholeFiles, name: str, reason: str) -> None:
    with files.docstore.snapshot() as snapshot, pytest.raises(NotIndexedError) as raised:
        read_text(snapshot, file_path(str(files.root / name)), None)
    assert (raised.value.hint or "").endswith(reason)


def base64_image(n_bytes: int) -> str:
    return f"data:image/png;base64,{base64.b64encode(random.Random(7).randbytes(n_bytes)).decode()}"  # noqa: S311


LARGE = {
    "big.csv": (
        "\n".join(
            [
                "id,name,city",
                *(f"{at},customer {at},town {at}" for at in range(60_000)),
                "60001,last customer budgerigar,town",
            ]
        ),
        "last customer budgerigar",
    ),
    "inline.html": (
        f"<p>before the picture badger</p><img src='{base64_image(1_500_000)}'><p>after the picture stoat</p>",
        "after the picture stoat",
    ),
    "inline.md": (
        f"before badger\n\n![x]({base64_image(300_000)})\n\nafter the image stoat\n",
        "after the image stoat",
    ),
    "long_line.txt": (
        " ".join(("alpha beta delta matrix " * 200_000, "zanzibar lighthouse keeper", "index token " * 20_000)),
        "zanzibar lighthouse keeper",
    ),
}


@pytest.mark.slow
def test_large_files_are_read_to_their_ends(tmp_path: Path) -> None:
    index = WholeFiles(tmp_path / "files", tmp_path / "data", ocr=OCR_OFF, max_file_size=10_000_000)
    for name, (text, _) in LARGE.items():
        index.write(name, text)
    index.run()
    assert [name for name, (_, phrase) in LARGE.items() if not has_phrase(index, name, phrase)] == []
    assert base64_image(60)[-40:] not in text_of(index, "inline.html")
    index.close()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_a_page_that_was_scanned_with_600_dots_an_inch_is_recognised(tmp_path: Path) -> None:
    with pymupdf.open() as drawn, pymupdf.open() as scanned:
        drawn.new_page().insert_textbox((72, 72, 520, 400), "The inspection of the mole enclosure is due.", fontsize=14)
        picture = drawn[0].get_pixmap(dpi=600, colorspace=pymupdf.csGRAY).tobytes("jpeg")
        scanned.new_page().insert_image((0, 0, 595, 842), stream=picture)
        index = WholeFiles(tmp_path / "files", tmp_path / "data", ocr=OcrSettings(), max_file_size=10_000_000)
        (tmp_path / "files").mkdir(exist_ok=True)
        scanned.save(tmp_path / "files/huge.pdf")
    index.run()
    assert has_phrase(index, "huge.pdf", "inspection of the mole enclosure")
    index.close()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
@pytest.mark.parametrize("name", SCANS)
def test_a_scan_gives_its_phrases_and_nothing_else(scans: WholeFiles, name: str) -> None:
    assert differences(scans, name, SCANS[name]) == ([], [])


def test_a_run_that_only_removed_files_says_so(index: Index) -> None:
    for name in "abc":
        index.write(f"{name}.md", f"Ledger {name}.\n")
    index.run()
    for name in "ab":
        (index.root / f"{name}.md").unlink()
    index.run()
    assert [run.message for run in index.app.status.runs(2)] == ["2 files removed", ""]
