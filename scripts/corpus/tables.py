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
    names = [name for name in readers if any(name in one.others for one in measured)]
    head = ["format", "files", "read", "no text", "members", "words", "found", "files/s", "MB", *names, "not read"]
    lines = [head, ["---"] * len(head), *(list(_cells(one, names)) for one in measured)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(one: Measured, names: Sequence[str]) -> Iterator[str]:
    yield one.kind
    yield str(one.n_files)
    yield str(one.ours.n_files)
    yield str(one.n_empty or "")
    yield str(one.n_members or "")
    yield f"{one.ours.n_words:,}" if one.ours.n_words else ""
    yield _share(one.ours)
    yield f"{one.ours.per_second:,.0f}"
    yield f"{one.peak_bytes / _MB:.0f}"
    for name in names:
        yield _other(one.others[name]) if name in one.others else ""
    yield _problems(one.problems)


def _share(share: Share) -> str:
    return f"{share.found:.3f}" if share.found is not None else ""


def _other(share: Share) -> str:
    """Write the share of the words, how many files were read, and how many a second."""
    return ", ".join(filter(None, (_share(share), f"{share.n_files} files", f"{share.per_second:,.0f}/s")))


def _problems(problems: Counter[str]) -> str:
    """Write why files were not read; what differs from file to file only in a number or a name is one reason."""
    reasons: Counter[str] = Counter()
    for problem, n_files in problems.items():
        reasons[re.sub(r"\d+", "N", re.sub(r"'[^']*'", "…", problem))[:70].replace("|", "/")] += n_files
    told = [f"{n_files} {reason}" for reason, n_files in reasons.most_common(_MOST_PROBLEMS)]
    n_others = sum(reasons.values()) - sum(n for _, n in reasons.most_common(_MOST_PROBLEMS))
    return "; ".join([*told, *([f"{n_others} others"] if n_others else [])])
