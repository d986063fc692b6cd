"""The page docs/speed.md, in which each benchmark writes its own table."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeAlias

Row: TypeAlias = dict[str, Any]

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "speed.md"
SUMMARY: Final = (
    ("semantic search of 5,779 files (107 MB) after", "keyword index and static vectors", "recollindex"),
    ("keyword search of 6,895 files (45 MB) after", "keyword index, 6,895", "recollindex"),
    ("hybrid search of 106,273 chunks, command", "search --mode hybrid", ""),
    ("hybrid search of 106,273 chunks, `dirindex serve`", "search in serve, 106,273 chunks, everywhere", ""),
    ("run over 78,085 unchanged files", "index, nothing to do, 78,085", "find -printf"),
)
"""Waiting times of users: a label, the beginning of its row, and the program to compare with."""

_PERCENTILE: Final = re.compile(r", (median|\d+ of 100|slowest)$")
_CLOCK, _PROCESSOR = " of the clock", " of processor"
_NAMED: Final = "`scripts/bench {}`, "


def renew_page(name: str, run: Row) -> None:
    """Replace the table of a benchmark in the page, and the summary at its beginning."""
    machine = f"{run['cores']} cores of {run['processor']}, {run['memory_gb']:.0f} GB, Python {run['python']}"
    n_rounds = f"{run['rounds']} rounds" if run["rounds"] > 1 else "1 round"
    content = table([row for row in run["rows"] if row["benchmark"] == name])
    head, *sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    named = _NAMED.format(name)
    for at, section in enumerate(sections):
        if named in section:
            sections[at] = f"{section.partition(named)[0]}{named}{n_rounds}, {machine}\n\n{content}"
    before, _, _ = head.partition("| | dirindex | baseline |")
    PAGE.write_text("\n## ".join([f"{before}{summary(sections)}\n", *sections]), encoding="utf-8")


def summary(sections: list[str]) -> str:
    """Return a table of the rows of `SUMMARY` that exist in the sections."""
    lines = ["| | dirindex | baseline |", "| --- | ---: | --- |"]
    rows = [line.strip("|").split("|") for section in sections for line in section.splitlines() if line.startswith("|")]
    for label, beginning, baseline in SUMMARY:
        for what, unit, ours, other, of, *_ in ([*map(str.strip, row), *[""] * 5] for row in rows):
            if what.startswith(beginning) and unit.startswith(("ms (processor)", "ms of the clock")) and baseline in of:
                compared = f"{duration(other)}, {of}" if baseline else ""
                lines.append(f"| {label} | {duration(ours)} | {compared} |")
                break
    return "\n".join(lines)


def duration(cell: str) -> str:
    """Format the first figure of a cell, in milliseconds."""
    milliseconds = float(re.split("[ /(]", cell)[0].replace(",", ""))
    return f"{milliseconds / 1000:.3g} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"  # noqa: PLR2004


def table(rows: list[Row]) -> str:
    is_compared = any(row["ratio"] for row in rows)
    lines = ["| what | unit | dirindex | baseline | of | ratio |", "| --- | --- | ---: | ---: | --- | ---: |"]
    if not is_compared:
        lines = ["| what | unit | dirindex |", "| --- | --- | ---: |"]
    for _, neighbours in groupby(rows, key=lambda row: _PERCENTILE.sub("", row["what"])):
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in neighbours:
            groups.setdefault((row["unit"], row["of"]), []).append(row)
        for (unit, of), group in groups.items():
            if (unit.replace(_PROCESSOR, _CLOCK), of) not in groups or _PROCESSOR not in unit:
                processor = groups.get((unit.replace(_CLOCK, _PROCESSOR), of), group)
                lines.append(table_row(group, processor, is_compared=is_compared))
    return "\n".join(lines) + "\n"


def table_row(group: list[Row], processor: list[Row], *, is_compared: bool) -> str:
    """Return a row of a table: percentiles of the same figures, with processor time in brackets."""
    row, columns = group[0], ["ours", "baseline", "ratio"] if group[0]["ratio"] else ["ours"]
    names = [re.sub(r"(\d+) of 100", r"p\1", match[1]) for row in group if (match := _PERCENTILE.search(row["what"]))]
    what = _PERCENTILE.sub("", row["what"].strip()) if len(names) > 1 else row["what"].strip()
    unit = row["unit"] if processor is group else row["unit"].replace(_CLOCK, " (processor)")
    cells = [joined(group, column) for column in columns]
    if processor is not group:
        cells = [f"{cell} ({joined(processor, column)})" for cell, column in zip(cells, columns, strict=True)]
    ours, baseline, ratio = [*cells, "", ""][:3]
    unit = f"{unit}: {' / '.join(names)}" if len(names) > 1 else unit
    if not is_compared:
        return f"| {what} | {unit} | {ours} |"
    return f"| {what} | {unit} | {ours} | {baseline} | {row['of'] if baseline else ''} | {ratio} |"


def joined(group: list[Row], column: str) -> str:
    return " / ".join(f"{row[column]:.2f}" if column == "ratio" else number(row[column]) for row in group)


def number(value: float) -> str:
    """Format three digits, and all before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits
