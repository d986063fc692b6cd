import pickle

import pymupdf
import pytest

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.formats.pdf.rendering import draw_page
from directory_indexer.ocr.engine_selection import InstalledModels, RapidOcr, installed_models

LEFT = ("Die größte Straße führt", "über die Brücke nach", "Süden, und jenseits des", "Flusses endet sie.")
RIGHT = ("L'été dernier, le café", "était fermé à cause de", "la fête du garçon, et", "personne n'a protesté.")


@pytest.fixture(scope="module")
def engine() -> RapidOcr:
    installed = installed_models()
    if installed is None:
        pytest.skip("the models of RapidOCR are not installed: pip install --no-deps rapidocr")
    return RapidOcr(installed)


def page_of(*texts: tuple[float, float, str], turn: int = 0, slant: float = 0.0) -> Raster:
    """Draw texts, each with its place in points."""
    document = pymupdf.open()
    page = document.new_page(width=420, height=300)
    for x, y, text in texts:
        around = (pymupdf.Point(210, 150), pymupdf.Matrix(slant))
        page.insert_text((x, y), text, fontname="tiro", fontsize=12, morph=around)
    return draw_page(document.tobytes(), "pdf", 1, dpi=150, turn=turn).raster


def two_columns() -> list[tuple[float, float, str]]:
    return [(x, 60.0 + 16 * row, text) for x, texts in ((40.0, LEFT), (230.0, RIGHT)) for row, text in enumerate(texts)]


def test_text_in_two_columns_is_read_with_its_accents_and_in_its_order(engine: RapidOcr) -> None:
    found = engine.recognise(page_of(*two_columns()))
    assert [line.text for line in found.lines] == [*LEFT, *RIGHT]
    assert len({line.block for line in found.lines}) == 2
    assert found.confidence > 0.9
    assert found.engine.startswith("rapidocr 3.")


@pytest.mark.slow
def test_a_slanted_page_is_read_as_an_upright_one(engine: RapidOcr) -> None:
    found = engine.recognise(page_of(*two_columns(), slant=3.0))
    assert [line.text for line in found.lines] == [*LEFT, *RIGHT]


def test_small_letters_in_a_coarse_picture_are_read(engine: RapidOcr) -> None:
    document = pymupdf.open()
    page = document.new_page(width=420, height=300)
    text = "Small letters are drawn larger"
    for row in range(4):
        page.insert_text((40, 60 + 12 * row), text, fontname="helv", fontsize=8)
    found = engine.recognise(draw_page(document.tobytes(), "pdf", 1, dpi=60).raster)
    assert [line.text for line in found.lines] == [text] * 4


def test_words_stand_where_they_are_drawn(engine: RapidOcr) -> None:
    [line] = engine.recognise(page_of((42, 150, "first second third"))).lines
    boxes = [word.box for word in line.words if word.box]
    first, second, third = boxes
    assert first.left == pytest.approx(1000, abs=120)
    assert (first.top + first.bottom) / 2 == pytest.approx(4880, abs=120)
    starts = [42 + pymupdf.get_text_length(text, "tiro", 12) for text in ("first ", "first second ")]
    assert [second.left, third.left] == pytest.approx([10_000 * one / 420 for one in starts], abs=120)
    assert first.right <= second.left
    assert second.right <= third.left


def test_what_is_no_text_is_not_read(engine: RapidOcr) -> None:
    blank = Raster(600, 400, b"\xff" * 240_000)
    assert engine.recognise(blank).lines == ()
    assert engine.turn_of(blank) == 0


@pytest.mark.parametrize("size", [(1, 1), (3, 900), (900, 3), (40, 40)])
def test_pages_of_odd_sizes_are_read_without_an_error(engine: RapidOcr, size: tuple[int, int]) -> None:
    width, height = size
    assert engine.recognise(Raster(width, height, bytes(width * height))).lines == ()


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_how_a_page_is_to_be_turned_is_told(engine: RapidOcr, turn: int) -> None:
    lines = [(40.0, 60.0 + 20 * row, text) for row, text in enumerate((*LEFT, *RIGHT))]
    assert engine.turn_of(page_of(*lines, turn=turn)) == -turn % 360


@pytest.mark.slow
def test_a_page_on_its_side_is_not_read_before_it_is_turned(engine: RapidOcr) -> None:
    found = engine.recognise(page_of(*two_columns(), turn=90))
    assert not set(LEFT) & {line.text for line in found.lines}


@pytest.mark.slow
def test_a_line_that_runs_up_the_margin_is_read(engine: RapidOcr) -> None:
    document = pymupdf.open()
    page = document.new_page(width=420, height=300)
    for row, text in enumerate((*LEFT, *RIGHT)):
        page.insert_text((100, 60 + 20 * row), text, fontname="tiro", fontsize=12)
    page.insert_text((40, 250), "upward in the margin", fontname="tiro", fontsize=12, rotate=90)
    found = engine.recognise(draw_page(document.tobytes(), "pdf", 1, dpi=150).raster)
    assert "upward in the margin" in [line.text for line in found.lines]


def test_colours_are_read_as_grey(engine: RapidOcr) -> None:
    grey = page_of((40, 100, "black on white"))
    samples = bytes(value for pixel in grey.samples for value in (pixel, pixel, pixel))
    coloured = grey._replace(samples=samples, n_channels=3)
    assert [line.text for line in engine.recognise(coloured).lines] == ["black on white"]


@pytest.mark.slow
def test_the_engine_travels_to_another_process_after_use(engine: RapidOcr) -> None:
    page = page_of((40, 100, "black on white"))
    engine.recognise(page)
    other = pickle.loads(pickle.dumps(engine))  # noqa: S301 - made here
    assert other.recipe == engine.recipe
    assert other.recognise(page) == engine.recognise(page)


def test_a_damaged_model_is_an_error_of_the_page(tmp_path: pytest.TempPathFactory) -> None:
    models = InstalledModels("3.10.0", f"{tmp_path}/detection.onnx", f"{tmp_path}/reading.onnx")
    with pytest.raises(ExtractionError, match="RapidOCR's model failed"):
        RapidOcr(models).recognise(page_of((40, 100, "text")))
