from __future__ import annotations

import pytest

from directory_indexer.ranking.analyzer import extra_words, split_into_words
from directory_indexer.ranking.markup import text_read_around_markup


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("see [the plan](https://x.org/a_(b) 'Plan') now", "see the plan now"),
        ("see ![the plan][fig-1] now", "see the plan now"),
        ("see [[https://x.org][the plan]] now", "see the plan now"),
        ("see [[Page#part|the plan]] now", "see the plan now"),
        ("see [https://x.org the plan] now", "see the plan now"),
        ("see [the plan|https://x.org] now", "see the plan now"),
        ("see <https://x.org|the plan> now", "see the plan now"),
        ('see "the plan":https://x.org now', "see the plan now"),
        ("see https://x.org[the plan] now", "see the plan now"),
        ("see link:https://x.org/a[the plan] now", "see the plan now"),
        ("see <<part, the plan>> now", "see the plan now"),
        ("see `the plan <https://x.org>`__ now", "see the plan now"),
        ("see :ref:`the plan <label>` now", "see the plan now"),
        ("see [the plan]{.big #id} now", "see the plan now"),
        ("see <em class='x'>the</em><br/>plan now", "see the plan now"),
        (r"see \href{https://x.org}{the \textbf{plan}}\cite[3]{key} now", "see the plan now"),
        ("see #strong[the plan] now", "see the plan now"),
        ("see the[^1] plan now", "see the plan now"),
        ("im**prov**able", "improvable"),
        ("inter-\n> national", "international"),
        (r"ap\-proach", "approach"),
    ],
)
def test_what_is_read_has_no_markup(written: str, read: str) -> None:
    assert split_into_words(text_read_around_markup(written)) == read.split()


@pytest.mark.parametrize(
    "written",
    [
        "handlers[name](argument)",
        "grid[row][column] = 2 ** 3",
        "if a < b and c > d: pass",
        "# Heading\n\n* item *one*\n- item `two`\n",
        "the 5-\n6 range, and UNO-\nFIFA",
        "x = 'it''s' | [[ -n $a ]]",
    ],
)
def test_code_and_plain_text_have_no_other_reading(written: str) -> None:
    assert text_read_around_markup(written) == ""


def test_a_reading_holds_what_stands_around_the_markup_and_no_more() -> None:
    text = f"{'far ' * 100}near [it](x) near{' far' * 100}"
    read = split_into_words(text_read_around_markup(text))

    assert read.count("near") == 2
    assert 40 < read.count("far") < 70


@pytest.mark.parametrize(
    "piece", ["[", "](", "[[", "<b ", "\\a{", "`_", "<<", "[x](", "https://[", "**a", "#a(", "'''"]
)
def test_no_text_takes_long(piece: str) -> None:
    assert isinstance(text_read_around_markup(piece * 20_000), str)


def test_a_word_of_any_length_beside_one_with_an_umlaut_is_read_without_delay() -> None:
    assert extra_words("Größe " + "a" * 500_000) == {"groesse"}


def test_raised_marks_are_no_part_of_a_word_but_of_a_unit() -> None:
    assert split_into_words("quokka¹ Dingo¹² Wallaby™") == ["quokka", "1", "dingo", "12", "wallaby", "tm"]
    assert extra_words("Größe¹") == {"groesse"}
    assert split_into_words("5 m² und 3 km³") == ["5", "m2", "und", "3", "km3"]


def test_names_with_digits_in_them_have_parts_only_beside_a_change_of_case() -> None:
    # Stored rows are removed by the words that they were stored with.
    assert extra_words("UTF8string MD5sum") == set()
    assert {"utf", "8", "string", "md", "5", "sum"} <= extra_words("UTF8string MD5sum camelCase")
