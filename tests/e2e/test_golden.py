"""What leaves the program is what `tests/golden` holds; `scripts/golden` writes it anew where a change is meant."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from goldens import GOLDEN, Session

if TYPE_CHECKING:
    from pathlib import Path


def test_a_session_prints_what_it_printed_before(tmp_path: Path) -> None:
    for name, text in Session(tmp_path).make():
        kept = (GOLDEN / name).read_text(encoding="utf-8")
        assert text == kept, "".join(
            unified_diff(kept.splitlines(True), text.splitlines(True), f"golden/{name}", "now", n=1)
        )
