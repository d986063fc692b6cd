"""What the processor can do that results depend on."""

from __future__ import annotations

import platform
from pathlib import Path

_FACTS = Path("/proc/cpuinfo")

MULTIPLIES_EXACTLY = (
    platform.machine() not in {"x86_64", "AMD64"} or not _FACTS.exists() or "vnni" in _FACTS.read_text(encoding="utf-8")
)
"""Without instructions for dot products of eight bits, ONNX Runtime adds pairs in sixteen, which may overflow."""
