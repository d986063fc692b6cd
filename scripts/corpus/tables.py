"""Writes what was measured as a table of Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from corpus.measuring import Measured, Share

_MOST_PROBLEMS = 4
_MB = 1_000_000


def markdown(measured: Sequence[Measured], readers: Sequence[str]) -> str:
    """Write a line for each format, with a column for each other reader that read any file."""
    names = [name for name in readers if any(name in measurement.others for measurement in measured)]
    head = ["format", "files", "read", "no text", "members", "words", "found", "files/s", "MB", *names, "not read"]
    lines = [head, ["---"] * len(head), *(list(_cells(measurement, names)) for measurement in measured)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(measurement: Measured, names: Sequence[str]) -> Iterator[str]:
    yield measurement.kind
    yield str(measurement.n_files)
    yield str(measurement.ours.n_files)
    yield str(measurement.n_empty or "")
    yield str(measurement.n_members or "")
    yield f"{measurement.ours.n_words:,}" if measurement.ours.n_words else ""
    yield _share(measurement.ours)
    yield f"{measurement.ours.per_second:,.0f}"
    yield f"{measurement.peak_bytes / _MB:.0f}"
    for name in names:
        yield _other(measurement.others[name]) if name in measurement.others else ""
    yield _problems(measurement.problems)


def _share(share: Share) -> str:
    return f"{share.found_share:.3f}" if share.found_share is not None else ""


def _other(share: Share) -> str:
    """Write the share of the words, how many files were read, and how many a second."""
    return ", ".join(filter(None, (_share(share), f"{share.n_files} files", f"{share.per_second:,.0f}/s")))


def _problems(problems: Counter[str]) -> str:
    """Write why files were not read; what differs from file to file only in a number or a name is one reason."""
    reasons: Counter[str] = Counter()
    for problem, n_files in problems.items():
        reasons[re.sub(r"\d+", "N", re.sub(r"'[^']*'", "…", problem))[:70].replace("|", "/")] += n_files
    summaries = [f"{n_files} {reason}" for reason, n_files in reasons.most_common(_MOST_PROBLEMS)]
    n_others = sum(reasons.values()) - sum(n for _, n in reasons.most_common(_MOST_PROBLEMS))
    return "; ".join([*summaries, *([f"{n_others} others"] if n_others else [])])
