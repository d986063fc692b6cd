import numpy as np

from directory_indexer.ocr.page_reading import rows_in_order


def ordered(*boxes: tuple[float, float, float, float]) -> list[tuple[int, ...]]:
    return [row.boxes for row in rows_in_order(np.array(boxes, np.float64).reshape(-1, 4))]


def column(left: float, *, top: float, n_lines: int, width: float = 200) -> list[tuple[float, float, float, float]]:
    return [(left, top + 30 * line, left + width, top + 30 * line + 20) for line in range(n_lines)]


def test_an_empty_page_has_no_rows() -> None:
    assert ordered() == []


def test_lines_are_read_from_the_top() -> None:
    boxes = column(0, top=0, n_lines=5)
    assert ordered(*boxes[::-1]) == [(4,), (3,), (2,), (1,), (0,)]


def test_what_stands_beside_each_other_is_one_row_from_the_left() -> None:
    assert ordered((300, 2, 340, 22), (0, 0, 200, 20), (0, 40, 200, 60)) == [(1, 0), (2,)]


def test_two_columns_are_read_one_after_the_other() -> None:
    left, right = column(0, top=0, n_lines=6), column(240, top=0, n_lines=6)
    beside = [box for pair in zip(left, right, strict=True) for box in pair]
    assert ordered(*beside) == [(index,) for index in (0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11)]


def test_columns_whose_lines_do_not_stand_level_are_read_one_after_the_other() -> None:
    boxes = [*column(240, top=13, n_lines=6), *column(0, top=0, n_lines=6)]
    assert ordered(*boxes) == [(index,) for index in (6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5)]


def test_three_columns_are_read_from_left_to_right() -> None:
    boxes = [box for left in (480, 0, 240) for box in column(left, top=0, n_lines=4)]
    assert ordered(*boxes) == [(index,) for index in (4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3)]


def test_a_headline_parts_the_columns_above_it_from_those_below() -> None:
    above = [*column(0, top=0, n_lines=3), *column(240, top=0, n_lines=3)]
    headline = (0.0, 100.0, 440.0, 120.0)
    below = [*column(0, top=140, n_lines=3), *column(240, top=140, n_lines=3)]
    assert ordered(*above, headline, *below) == [(index,) for index in range(13)]


def test_a_short_last_line_stays_between_the_lines_across_around_it() -> None:
    columns = [*column(0, top=200, n_lines=4), *column(240, top=200, n_lines=4)]
    text = [(0, 0, 440, 20), (0, 30, 100, 50), (0, 60, 440, 80)]
    assert ordered(*text, *columns)[:3] == [(0,), (1,), (2,)]


def test_a_table_is_read_by_rows() -> None:
    labels = [(0, 30 * row, 180, 30 * row + 20) for row in range(5)]
    numbers = [(300, 30 * row, 360, 30 * row + 20) for row in range(5)]
    assert ordered(*labels, *numbers) == [(row, row + 5) for row in range(5)]


def test_a_line_that_runs_up_the_margin_is_a_row_of_its_own() -> None:
    assert ordered((40, 40, 240, 60), (0, 0, 20, 100)) in ([(0,), (1,)], [(1,), (0,)])


def test_lines_of_a_paragraph_share_a_block_and_those_after_a_gap_have_another() -> None:
    boxes = [*column(0, top=0, n_lines=3), *column(0, top=140, n_lines=3)]
    assert [row.block for row in rows_in_order(np.array(boxes))] == [0, 0, 0, 1, 1, 1]


def test_columns_are_different_blocks() -> None:
    boxes = [*column(0, top=0, n_lines=3), *column(240, top=0, n_lines=3)]
    assert [row.block for row in rows_in_order(np.array(boxes))] == [0, 0, 0, 1, 1, 1]


def test_a_headline_in_larger_letters_is_a_block_of_its_own() -> None:
    boxes = [(0.0, 0.0, 200.0, 40.0), *column(0, top=50, n_lines=4)]
    assert [row.block for row in rows_in_order(np.array(boxes))] == [0, 1, 1, 1, 1]
