"""The command as it is, but for the model: `cheaply.py COMMAND...` gives each text a vector at no cost."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    # Not at the top, for the processes that parse import this file again.
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    from tortures.workbench import CheapApp  # noqa: PLC0415 - as above

    from directory_indexer.app import App  # noqa: PLC0415
    from directory_indexer.cli import main as command  # noqa: PLC0415

    App.embedder = App.answering_embedder = CheapApp.embedder  # type: ignore[assignment,method-assign]
    command()


if __name__ == "__main__":
    main()
