import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from directory_indexer.ocr.detection import find_components, find_runs, label_runs


def mask_of(*rows: str) -> np.ndarray:
    return np.array([[one == "#" for one in row] for row in rows])


def n_components(mask: np.ndarray) -> int:
    labels = label_runs(find_runs(mask))
    return int(labels.max(initial=-1)) + 1


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (("...", "..."), 0),
        (("##.##",), 2),
        (("#..", ".#.", "..#"), 1),
        (("#.#", "#.#", "###"), 1),
        (("#####", "#...#", "#.#.#", "#...#", "#####"), 2),
        (("#.", "..", "#."), 2),
        ((".#", "#."), 1),
    ],
)
def test_pixels_that_touch_at_an_edge_or_a_corner_are_one_component(rows: tuple[str, ...], expected: int) -> None:
    assert n_components(mask_of(*rows)) == expected


@given(arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_components_are_those_that_flooding_finds(mask: np.ndarray) -> None:
    assert n_components(mask) == _flooded(mask)


def test_a_spiral_of_single_pixels_is_one_component() -> None:
    mask = np.zeros((101, 101), np.bool_)
    row, column, step, length = 50, 50, (0, 1), 2
    while 0 <= row + step[0] * length < 101 and 0 <= column + step[1] * length < 101:
        for _ in range(length):
            row, column = row + step[0], column + step[1]
            mask[row, column] = True
        step, length = (step[1], -step[0]), length + 1
    assert n_components(mask) == 1


def test_an_upright_rectangle_is_found_as_it_is() -> None:
    mask = np.zeros((40, 100), np.bool_)
    mask[10:16, 20:80] = True
    [found] = find_components(np.where(mask, 0.75, 0).astype(np.float32), mask, most=10)
    assert found.box == pytest.approx((50, 13, 60, 6, 0))
    assert found.score == pytest.approx(0.75)


@pytest.mark.parametrize("degrees", [-30, -2, 3, 20])
def test_the_box_of_a_slanted_line_is_slanted(degrees: float) -> None:
    angle = math.radians(degrees)
    y, x = np.mgrid[0:200, 0:200] - 100
    along, down = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    mask = (abs(along) < 80) & (abs(down) < 5)
    [found] = find_components(mask.astype(np.float32), mask, most=10)
    assert found.box.angle == pytest.approx(angle, abs=0.01)
    assert found.box.width == pytest.approx(160, abs=4)
    assert found.box.height == pytest.approx(10, abs=3)


def test_a_short_word_takes_the_slant_of_the_lines_around_it() -> None:
    y, x = np.mgrid[0:100, 0:300]
    level = y - 0.05 * x
    mask = (abs(level - 20) < 4) & (x > 10) & (x < 280) | (abs(level - 60) < 4) & (x > 10) & (x < 24)
    boxes = [one.box for one in find_components(mask.astype(np.float32), mask, most=10)]
    assert [box.angle for box in boxes] == pytest.approx([math.atan(0.05)] * 2, abs=0.005)


def test_only_the_largest_of_too_many_components_are_kept() -> None:
    mask = np.zeros((20, 60), np.bool_)
    mask[2, 2:4], mask[8:12, 2:40], mask[16:19, 2:30] = True, True, True
    found = find_components(mask.astype(np.float32), mask, most=2)
    assert [round(one.box.width) for one in found] == [38, 28]


def _flooded(mask: np.ndarray) -> int:
    waiting = {(int(row), int(column)) for row, column in zip(*np.nonzero(mask), strict=True)}
    n_found = 0
    while waiting:
        n_found += 1
        border = [waiting.pop()]
        while border:
            row, column = border.pop()
            near = {(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)} & waiting
            waiting -= near
            border.extend(near)
    return n_found
