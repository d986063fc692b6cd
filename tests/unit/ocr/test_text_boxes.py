import math

import numpy as np
import pytest

from directory_indexer.ocr.detection import TextBox, boxes_of, resample


def test_a_box_is_drawn_pixel_by_pixel_at_its_own_size() -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(6, 8)
    assert (resample(pixels, TextBox(4, 3, 4, 2), 2, 4) == pixels[2:4, 2:6]).all()


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_a_box_that_is_read_in_another_direction_is_drawn_turned(quarters: int) -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6)
    box = TextBox(3, 2, 6, 4).turned(quarters)
    expected = np.rot90(pixels, quarters)
    assert resample(pixels, box, *expected.shape) == pytest.approx(expected, abs=1e-4)


def test_a_slanted_box_is_drawn_level() -> None:
    y, x = np.mgrid[0:100, 0:200]
    angle = math.radians(10)
    pixels = np.where(abs((y - 50) * math.cos(angle) - (x - 100) * math.sin(angle)) < 4, 0, 255).astype(np.uint8)
    drawn = resample(pixels, TextBox(100, 50, 120, 20, angle), 20, 120)
    assert drawn[8:12].max() < 10
    assert drawn[:5].min() > 245


def test_what_is_drawn_much_smaller_is_averaged() -> None:
    pixels = np.tile(np.array([0, 200], np.uint8), (40, 20))
    assert resample(pixels, TextBox(20, 20, 40, 40), 4, 4) == pytest.approx(np.full((4, 4), 100.0))


def test_what_lies_outside_continues_the_edge() -> None:
    drawn = resample(np.full((4, 4), 7, np.uint8), TextBox(0, 0, 8, 8), 8, 8)
    assert (drawn == 7).all()


def test_a_stretch_of_a_slanted_box_lies_along_it() -> None:
    box = TextBox(0, 0, 100, 10, math.pi / 4)
    end = box.segment(0.5, 1)
    assert (end.x, end.y, end.width) == pytest.approx((25 / math.sqrt(2), 25 / math.sqrt(2), 50))


def test_probable_text_becomes_a_box_that_is_wider_than_what_was_marked() -> None:
    probabilities = np.zeros((64, 128), np.float32)
    probabilities[30:36, 20:100] = 0.9
    [box] = boxes_of(probabilities)
    assert box.width > 80
    assert box.height > 10
    assert (box.x, box.y) == pytest.approx((60, 33), abs=1)


def test_specks_and_doubtful_places_are_no_text() -> None:
    probabilities = np.zeros((64, 128), np.float32)
    probabilities[10, 10] = 0.9
    probabilities[30:40, 20:100] = 0.4
    assert boxes_of(probabilities) == []


def test_a_page_full_of_specks_gives_a_bounded_number_of_boxes() -> None:
    probabilities = np.zeros((600, 600), np.float32)
    for row in range(4):
        for column in range(4):
            probabilities[row::8, column::8] = 0.9
    assert len(boxes_of(probabilities)) <= 1000
