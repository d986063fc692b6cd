from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from directory_indexer.formats.pdf.documents import OutlineEntry, build_document
from directory_indexer.formats.pdf.flow import flow
from directory_indexer.formats.pdf.pages import Page, Row, clean, in_reading_order, remove_running_rows

HEIGHT = 8000
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXTS = st.one_of(
    st.sampled_from(
        ["Foxes", "1 Foxes", "a bro-", "ken word", "12", "xii", "Page 3 of 9", "It ends.", "狐狸", "- 4 -"]
    ),
    st.text(min_size=1, max_size=30).map(clean).filter(bool),
)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    left, top = draw(st.integers(0, 5000)), draw(st.integers(0, HEIGHT))
    size = draw(st.sampled_from([80, 100, 120, 200]))
    text = draw(TEXTS)
    return Row(text, left, top, left + 50 * len(text), top + size, size, draw(st.booleans()), draw(st.integers(0, 5)))


@st.composite
def documents(draw: st.DrawFn) -> list[Page]:
    pages = draw(st.lists(st.lists(rows(), max_size=6), max_size=6))
    return [Page(number, HEIGHT, tuple(page)) for number, page in enumerate(pages, 1)]


def signs(text: str) -> Counter[str]:
    return Counter(character for character in text if not character.isspace() and character not in "-\u2010\u00ad")


@UNHURRIED
@given(documents())
def test_ordering_loses_and_invents_nothing(pages: list[Page]) -> None:
    for page in pages:
        assert Counter(in_reading_order(page).rows) == Counter(page.rows)


@UNHURRIED
@given(documents())
def test_leaving_out_what_is_repeated_loses_no_text_that_is_no_page_number(pages: list[Page]) -> None:
    before = {row.text for page in pages for row in page.rows}
    after = {row.text for page in remove_running_rows(pages) for row in page.rows}

    assert after <= before
    assert all(any(character in "0123456789ivxlcIVXLC" for character in text) for text in before - after)


@UNHURRIED
@given(documents())
def test_joining_keeps_every_sign_and_knows_where_each_row_starts(pages: list[Page]) -> None:
    text, placed = flow(pages)

    assert signs(text) == signs("".join(row.text for page in pages for row in page.rows))
    assert [row.start for row in placed] == sorted(row.start for row in placed)
    assert all(0 <= row.start <= len(text) for row in placed)


@UNHURRIED
@given(documents(), st.lists(st.builds(OutlineEntry, st.integers(1, 4), TEXTS, st.integers(-1, 9))), TEXTS)
def test_sections_are_sorted_and_start_at_the_start(pages: list[Page], outline: list[OutlineEntry], title: str) -> None:
    document = build_document(pages, "pdf", outline=outline, title=title)

    starts = [section.start for section in document.sections]
    assert starts == sorted(set(starts))
    assert starts[:1] == ([0] if document.text else [])
    assert all(section.page for section in document.sections)
