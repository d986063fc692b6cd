"""What leaves the program is what `tests/golden` holds; `scripts/golden` writes it anew where a change is meant."""

from __future__ import annotations

import sys
from difflib import unified_diff

import pytest
from goldens import GOLDEN, made_goldens


@pytest.mark.skipif(sys.platform != "linux", reason="the budgets of answers count the characters of paths")
def test_a_session_prints_what_it_printed_before() -> None:
    for name, text in made_goldens():
        kept = (GOLDEN / name).read_text(encoding="utf-8")
        lines = (kept.splitlines(keepends=True), text.splitlines(keepends=True))
        assert text == kept, "".join(unified_diff(*lines, f"golden/{name}", "now", n=1))
