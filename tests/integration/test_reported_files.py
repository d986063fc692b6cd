"""Files like those with which other readers had problems, as reported in public: each is read as it was meant."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import pytest
from indexes import OCR_OFF
from phrases import WholeFiles, has_phrase, text_of

from directory_indexer.ocr.engine_selection import OcrSettings

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
@pytest.mark.parametrize("name", SCANS)
def test_a_scan_gives_its_phrases_and_nothing_else(scans: WholeFiles, name: str) -> None:
    assert differences(scans, name, SCANS[name]) == ([], [])
