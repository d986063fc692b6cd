"""The worker processes that previews are made in: one that draws, and one that takes texts apart meanwhile."""

from __future__ import annotations

from directory_indexer.previewing.warm_worker import WarmWorker
from directory_indexer.previewing.work import answer


class PreviewWorkers:
    """Two processes, started when they are first asked."""

    def __init__(self) -> None:
        self.drawing = WarmWorker(answer)
        self.taking_apart = WarmWorker(answer)

    def close(self) -> None:
        """End both."""
        self.drawing.close()
        self.taking_apart.close()
