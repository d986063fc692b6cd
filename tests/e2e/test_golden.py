"""What leaves the program is what `tests/golden` holds; `scripts/golden` writes it anew where a change is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldens import GOLDEN, Session

if TYPE_CHECKING:
    from pathlib import Path


def test_a_session_prints_what_it_printed_before(tmp_path: Path) -> None:
    made = dict(Session(tmp_path).make())

    assert made == {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.iterdir()}
