"""Power supply of this machine: the charge of its battery."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from directory_indexer.lazy import lazily

with lazily:
    import ctypes
    import subprocess

POWER_SUPPLIES = Path("/sys/class/power_supply")
"""Where Linux exposes batteries and mains."""

_PMSET_SECONDS = 5
_PERCENT = re.compile(r"\b(\d{1,3})%")
_WINDOWS_ON_BATTERY, _WINDOWS_UNKNOWN = 0, 255


def battery_percent(supplies: Path = POWER_SUPPLIES) -> int | None:
    """Return the battery charge while the machine runs on it; None on mains, without a battery, or if unknown."""
    if sys.platform == "win32":
        return _windows_percent()
    if sys.platform == "darwin":
        return _pmset_percent()
    return _linux_percent(supplies)


def _linux_percent(supplies: Path) -> int | None:
    """Return the charge of the machine's own batteries: those of mice and headsets are in the same place (`scope`)."""
    try:
        devices = sorted(supplies.iterdir())
    except OSError:
        return None
    batteries = [
        supply for supply in devices if _fact(supply, "type") == "Battery" and _fact(supply, "scope") != "Device"
    ]
    if not any(_fact(battery, "status") == "Discharging" for battery in batteries):
        return None
    levels = [int(level) for battery in batteries if (level := _fact(battery, "capacity")).isdecimal()]
    return sum(levels) // len(levels) if levels else None


def _fact(supply: Path, name: str) -> str:
    try:
        return (supply / name).read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # a driver need not support everything, and a battery may be removed
        return ""


def _pmset_percent() -> int | None:
    try:
        output = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"], capture_output=True, timeout=_PMSET_SECONDS, check=True, text=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    level = _PERCENT.search(output)
    return int(level[1]) if level and "'Battery Power'" in output else None


def _windows_percent() -> int | None:
    # SYSTEM_POWER_STATUS: a byte each for mains, state of the battery, percent and saver, then two numbers of four.
    status = (ctypes.c_ubyte * 12)()
    if not ctypes.windll.kernel32.GetSystemPowerStatus(ctypes.byref(status)):  # type: ignore[attr-defined,unused-ignore]
        return None
    mains, percent = status[0], status[2]
    return None if mains != _WINDOWS_ON_BATTERY or percent == _WINDOWS_UNKNOWN else int(percent)
