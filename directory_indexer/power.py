"""What this machine runs on: how full the battery is that it draws from."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from directory_indexer.lazy import lazily

with lazily:
    import ctypes
    import subprocess

POWER_SUPPLIES = Path("/sys/class/power_supply")
"""Where Linux tells of batteries and mains."""

_PMSET_SECONDS = 5
_PERCENT = re.compile(r"\b(\d{1,3})%")
_WINDOWS_ON_BATTERY, _WINDOWS_UNKNOWN = 0, 255


def battery_percent(supplies: Path = POWER_SUPPLIES) -> int | None:
    """Tell how full the battery is that the machine runs on; None on mains, without one, and where nobody tells."""
    if sys.platform == "win32":
        return _windows_percent()
    if sys.platform == "darwin":
        return _pmset_percent()
    return _linux_percent(supplies)


def _linux_percent(supplies: Path) -> int | None:
    """Read the batteries of the machine itself: mice and headsets have theirs in the same place (`scope`)."""
    try:
        found = sorted(supplies.iterdir())
    except OSError:
        return None
    batteries = [one for one in found if _fact(one, "type") == "Battery" and _fact(one, "scope") != "Device"]
    if not any(_fact(battery, "status") == "Discharging" for battery in batteries):
        return None
    levels = [int(level) for battery in batteries if (level := _fact(battery, "capacity")).isdecimal()]
    return sum(levels) // len(levels) if levels else None


def _fact(supply: Path, name: str) -> str:
    try:
        return (supply / name).read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # a driver need not know everything, and a battery may be pulled out
        return ""


def _pmset_percent() -> int | None:
    try:
        told = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"], capture_output=True, timeout=_PMSET_SECONDS, check=True, text=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    level = _PERCENT.search(told)
    return int(level[1]) if level and "'Battery Power'" in told else None


def _windows_percent() -> int | None:
    # SYSTEM_POWER_STATUS: a byte each for mains, state of the battery, percent and saver, then two numbers of four.
    status = (ctypes.c_ubyte * 12)()
    if not ctypes.windll.kernel32.GetSystemPowerStatus(ctypes.byref(status)):  # type: ignore[attr-defined,unused-ignore]
        return None
    mains, percent = status[0], status[2]
    return None if mains != _WINDOWS_ON_BATTERY or percent == _WINDOWS_UNKNOWN else int(percent)
