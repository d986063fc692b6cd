"""Measurements as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from scanning.measuring import Measured, error_rate, words_found
from scanning.pages import Page


def by_group(pages: Sequence[Page], measured: Sequence[Measured]) -> str:
    """Write how well and how fast each engine reads each language."""
    rows = [
        _row(measurement, group, [number for number, page in enumerate(pages) if group in {page.group, "all"}], pages)
        for group in ("all", *dict.fromkeys(page.group for page in pages))
        for measurement in measured
    ]
    head = ("pages", "n", "engine", "errors/character", "words found", "CPU s/page", "s/page", "peak MB")
    return _table(head, rows)


def by_page(pages: Sequence[Page], measured: Sequence[Measured], *, worst: int) -> str:
    """Write the share of words that each engine finds, the pages first where one finds the fewest.

    Where nobody knows what stands on a page, that is the share of the words that the first engine reads.
    """
    shares = [
        [
            words_found(measurement.read[number].text, page.text or measured[0].read[number].text)
            for measurement in measured
        ]
        for number, page in enumerate(pages)
    ]
    order = sorted(range(len(pages)), key=lambda number: min(shares[number]))[:worst]
    rows = [
        (
            pages[number].name,
            *(_cell(shares[number][index], measurement, number) for index, measurement in enumerate(measured)),
        )
        for number in order
    ]
    return _table(("page", *(f"{measurement.name}: words, number, CPU s" for measurement in measured)), rows)


def _cell(share: float, measurement: Measured, number: int) -> str:
    read = measurement.read[number]
    return f"{share:.3f}, {len(read.text.split())}, {read.seconds:.1f}"


def _row(measurement: Measured, group: str, numbers: Sequence[int], pages: Sequence[Page]) -> tuple[str, ...]:
    read = [measurement.read[number] for number in numbers]
    errors = fmean(error_rate(measurement.read[number].text, pages[number].text) for number in numbers)
    share = fmean(words_found(measurement.read[number].text, pages[number].text) for number in numbers)
    seconds, wall = fmean(page.seconds for page in read), fmean(page.wall for page in read)
    peak = max(page.peak_mb for page in read)
    return (
        group,
        str(len(numbers)),
        measurement.name,
        f"{errors:.4f}",
        f"{share:.4f}",
        f"{seconds:.2f}",
        f"{wall:.2f}",
        str(peak),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
