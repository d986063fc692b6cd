"""Tesseract is run as a command: what it says is believed as far as it can be, and what it breaks over is a problem."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pymupdf
import pytest
from page_engines import Standin
from scanned_pages import Picture, blank, picture

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.tesseract import Tesseract, installed_tesseract

if TYPE_CHECKING:
    from pathlib import Path

    from directory_indexer.ocr.tesseract import Installed

ENGLISH = "The quick brown fox jumps over the lazy dog\nand then it goes home for the night"
GERMAN = "Der schnelle braune Fuchs springt nicht immer\nund dann geht er nach Hause in der Nacht"


@pytest.fixture
def standin(tmp_path: Path) -> Standin:
    return Standin(tmp_path / "tesseract-5")


def installed(standin: Standin) -> Installed:
    found = installed_tesseract(str(standin.command))
    assert found is not None
    return found


def raster(shown: Picture, dpi: int = 200) -> Raster:
    return Raster(*shown, dpi=dpi)


@pytest.fixture(autouse=True)
def no_language_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def test_what_is_installed_is_asked_of_the_command(standin: Standin) -> None:
    standin.tell(version="5.5.1", languages=["deu", "eng", "script/Latin"])
    assert installed(standin)[1:3] == ("5.5.1", ("eng", "deu", "script/Latin"))


def test_a_page_is_first_read_in_the_language_of_the_system(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    found = Tesseract(installed(standin)).recognise(raster(picture(GERMAN, "deu")))
    assert (found.engine, standin.n_read()) == ("tesseract 5.3.0 (deu)", 1)


def test_a_page_too_short_to_tell_is_read_in_all_languages(standin: Standin) -> None:
    engine = Tesseract(installed(standin))
    found = engine.recognise(raster(picture("Eigentümer: Helga Keller", "deu")))
    assert (found.engine, found.confidence) == ("tesseract 5.3.0 (eng+deu)", 0.96)
    engine.recognise(raster(picture(ENGLISH)))
    assert [languages for _, languages, _, _ in standin.calls] == ["eng", "eng+deu", "eng"]


@pytest.mark.skipif(os.name != "posix", reason="a terminal interrupts the processes of a session")
def test_ctrl_c_does_not_reach_the_command_that_is_asked(tmp_path: Path) -> None:
    command = tmp_path / "tesseract"
    command.write_text(f"#!{sys.executable}\nimport os\nprint('tesseract', os.getsid(0))\n")
    command.chmod(0o755)
    found = installed_tesseract(str(command))
    assert found is not None
    assert found.version != str(os.getsid(0))


def test_a_command_that_is_not_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed_tesseract("tesseract") is None


@pytest.mark.parametrize("name", ["./tesseract", "tesseract-5/tesseract"])
def test_a_command_of_the_working_directory_is_none(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(standin.place.parent if "-5" in name else standin.place)
    monkeypatch.setenv("PATH", f".{os.pathsep}tesseract-5{os.pathsep}")
    assert os.path.isfile(name)
    assert installed_tesseract(name) is None
    assert installed_tesseract("tesseract") is None


def test_the_command_hears_of_no_key_and_of_the_place_of_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, heard = tmp_path / "tesseract", tmp_path / "heard"
    command.write_text(f'#!/bin/sh\n(pwd; env) >> "{heard}"\necho "tesseract 5.3.0"\n')
    command.chmod(0o700)
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-a-service")
    monkeypatch.setenv("TESSDATA_PREFIX", "/usr/share/data-of-tesseract")
    monkeypatch.chdir(tmp_path)

    found = installed_tesseract(str(command))
    assert found is not None
    Tesseract(found).recognise(raster(blank()))

    lines = heard.read_text().splitlines()
    assert lines.count("TESSDATA_PREFIX=/usr/share/data-of-tesseract") == 3
    assert str(tmp_path) not in lines
    assert not any("a-key-of-a-service" in line for line in lines)


def test_another_command_of_that_name_is_refused(standin: Standin) -> None:
    standin.tell(says="usage: tesseract [--hypercube]")
    with pytest.raises(ExtractionError, match="is not Tesseract"):
        installed(standin)


def test_a_page_becomes_lines_with_places(standin: Standin) -> None:
    found = Tesseract(installed(standin)).recognise(raster(picture("The zeppelin\n\nis late.")))

    assert [line.text for line in found.lines] == ["The zeppelin", "is late."]
    assert [line.block for line in found.lines] == [0, 1]
    assert found.engine == "tesseract 5.3.0 (eng)"
    assert found.lines[1].words[1].box == (5000, 6660, 9000, 9303)
    assert standin.calls[0] == ("tsv", "eng", "200", "The zeppelin\n\nis late.")


@pytest.mark.parametrize(("dpi", "told"), [(0, "200"), (72, "200"), (96, "200"), (300, "300")])
def test_a_picture_that_states_no_resolution_of_a_scan_is_read_as_one(standin: Standin, dpi: int, told: str) -> None:
    Tesseract(installed(standin)).recognise(raster(picture(ENGLISH), dpi))
    assert standin.calls[0][2] == told


def test_a_page_in_another_language_is_read_again_in_that(standin: Standin) -> None:
    engine = Tesseract(installed(standin))

    german = engine.recognise(raster(picture(GERMAN, "deu")))
    engine.recognise(raster(picture(GERMAN, "deu")))

    assert (german.engine, german.confidence) == ("tesseract 5.3.0 (deu)", 0.96)
    assert [languages for _, languages, _, _ in standin.calls] == ["eng", "deu", "deu"]


def test_a_page_is_not_read_again_in_a_language_without_data(standin: Standin) -> None:
    standin.tell(languages=["eng", "osd"])
    found = Tesseract(installed(standin)).recognise(raster(picture(GERMAN, "deu")))
    assert (found.engine, standin.n_read()) == ("tesseract 5.3.0 (eng)", 1)


def test_languages_that_are_chosen_are_read_in_at_once(standin: Standin) -> None:
    engine = Tesseract(installed(standin), ["deu", "eng"])
    engine.recognise(raster(picture(GERMAN, "deu")))
    assert [languages for _, languages, _, _ in standin.calls] == ["deu+eng"]


def test_another_version_or_other_languages_are_another_recipe(standin: Standin) -> None:
    recipes = {Tesseract(installed(standin)).recipe, Tesseract(installed(standin), ["deu"]).recipe}
    standin.tell(version="5.4.0")
    recipes.add(Tesseract(installed(standin)).recipe)
    standin.tell(languages=["eng", "deu", "fra", "osd"])
    recipes.add(Tesseract(installed(standin)).recipe)
    standin.tell(languages=["osd", "deu", "eng"])
    assert len(recipes) == 4
    assert Tesseract(installed(standin)).recipe in recipes


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_how_a_page_is_turned_is_told(standin: Standin, turn: int) -> None:
    assert Tesseract(installed(standin)).turn_of(raster(picture(ENGLISH, turn=turn))) == turn


def test_without_data_for_it_or_letters_no_page_is_turned(standin: Standin) -> None:
    assert Tesseract(installed(standin)).turn_of(raster(blank())) == 0
    standin.tell(languages=["eng"])
    assert Tesseract(installed(standin)).turn_of(raster(picture(ENGLISH, turn=90))) == 0


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("crash", "tesseract ends with signal 11"),
        ("fail", "tesseract ends with exit status 3"),
        ("hang", "tesseract takes longer than 1 s"),
    ],
)
def test_a_command_that_breaks_over_a_page_is_a_problem_of_that_page(standin: Standin, order: str, said: str) -> None:
    standin.tell(on={"zeppelin": order})
    engine = Tesseract(installed(standin), seconds=1)
    with pytest.raises(ExtractionError) as caught:
        engine.recognise(raster(picture("The zeppelin is late.")))
    assert caught.value.message == said


def test_nonsense_is_an_empty_page(standin: Standin) -> None:
    standin.tell(table='<html>"out of\tcheese\x00</html>\n5\t5\t5\n' * 1000)
    assert Tesseract(installed(standin)).recognise(raster(picture("The zeppelin is late."))).lines == ()


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_the_real_command_reads_a_page(tmp_path: Path) -> None:
    real = installed_tesseract("tesseract")
    assert real is not None
    if not {"eng", "osd"} <= set(real.languages):
        pytest.skip(f"data for eng and osd is not installed, only for {real.languages}")
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=300, height=150)
        for number, line in enumerate(["The annual meeting of the committee", "was moved to the third of March."]):
            page.insert_text((20, 40 + 30 * number), line, fontsize=14)
        pixels = page.get_pixmap(dpi=200, colorspace=pymupdf.csGRAY)

    found = Tesseract(real).recognise(Raster(pixels.width, pixels.height, pixels.samples, dpi=200))

    assert " ".join(line.text for line in found.lines) == (
        "The annual meeting of the committee was moved to the third of March."
    )
    assert found.confidence > 0.8
    first = found.lines[0].words[0].box
    assert first is not None
    assert (round(first.left / 10_000 * 300), first.top < 3_000) == (20, True)
    assert os.listdir(tmp_path) == []
