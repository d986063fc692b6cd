"""Index directories as `dirindex index` does, and print how many milliseconds of processor time the model took.

`model_share.py DATA_DIR DIRECTORY...` counts the time that threads spend inside `InferenceSession.run`, which uses no
others: the embedded engine gives each session one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import onnxruntime

_calls: list[float] = []


class _TimedSession(onnxruntime.InferenceSession):  # type: ignore[misc]  # untyped
    def run(self, *arguments: Any) -> Any:
        started = time.thread_time()
        try:
            return super().run(*arguments)
        finally:
            _calls.append(time.thread_time() - started)


def main() -> None:
    onnxruntime.InferenceSession = _TimedSession

    from directory_indexer.app import App  # noqa: PLC0415 - the session that it loads must be the timed one
    from directory_indexer.config import load_config  # noqa: PLC0415
    from directory_indexer.indexing.options import IndexOptions  # noqa: PLC0415

    data_dir, *directories = sys.argv[1:]
    app = App(load_config(file=None, data_dir=Path(data_dir), environ={}))
    app.indexer.index(
        directories, options=IndexOptions(has_consent=True), listener=lambda _: None, stop_reason=lambda: None
    )
    print(sum(_calls) * 1000)


if __name__ == "__main__":
    main()
