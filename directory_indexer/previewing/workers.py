"""The two preview workers: one renders pages, the other parses texts."""

from __future__ import annotations

from pathlib import Path

from directory_indexer.previewing.warm_worker import WarmWorker
from directory_indexer.previewing.work import answer


class PreviewWorkers:
    """Two processes, started on first use."""

    def __init__(self, scratch: Path) -> None:
        self.drawing = WarmWorker(answer, scratch)
        self.taking_apart = WarmWorker(answer, scratch)

    def close(self) -> None:
        """End both."""
        self.drawing.close()
        self.taking_apart.close()
