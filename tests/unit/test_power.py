"""Which battery a machine draws from, as Linux tells it in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.machine import battery_percent

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif("sys.platform in ('win32', 'darwin')", reason="they tell it in other ways")


def supply(directory: Path, name: str, **facts: str) -> None:
    (directory / name).mkdir(exist_ok=True)
    for fact, value in facts.items():
        (directory / name / fact).write_text(f"{value}\n")


@pytest.mark.parametrize(
    ("facts", "percent"),
    [
        ({"type": "Battery", "status": "Discharging", "capacity": "18"}, 18),
        ({"type": "Battery", "status": "Discharging", "capacity": "18", "scope": "System"}, 18),
        ({"type": "Battery", "status": "Charging", "capacity": "18"}, None),
        ({"type": "Battery", "status": "Not charging", "capacity": "60"}, None),
        ({"type": "Battery", "status": "Discharging", "capacity": "5", "scope": "Device"}, None),
        ({"type": "Mains", "online": "0"}, None),
        ({"type": "Battery", "status": "Discharging"}, None),
        ({"type": "Battery", "status": "Discharging", "capacity": "much"}, None),
    ],
    ids=["alone", "of the system", "charging", "full", "a mouse", "mains", "no level", "no number"],
)
def test_only_a_battery_that_the_machine_draws_from_counts(
    tmp_path: Path, facts: dict[str, str], percent: int | None
) -> None:
    supply(tmp_path, "AC", type="Mains", online="0")
    supply(tmp_path, "BAT0", **facts)
    assert battery_percent(tmp_path) == percent


def test_two_batteries_count_together_though_one_rests(tmp_path: Path) -> None:
    supply(tmp_path, "BAT0", type="Battery", status="Discharging", capacity="20")
    supply(tmp_path, "BAT1", type="Battery", status="Unknown", capacity="90")
    supply(tmp_path, "hidpp_battery_0", type="Battery", status="Discharging", capacity="1", scope="Device")
    assert battery_percent(tmp_path) == 55


def test_a_machine_that_tells_nothing_runs_on_mains(tmp_path: Path) -> None:
    assert battery_percent(tmp_path / "missing") is None
