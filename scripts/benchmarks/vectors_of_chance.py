"""A whole index run with vectors of chance: `vectors_of_chance.py DATA_DIR DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.corpus import make_index

if __name__ == "__main__":
    make_index(*map(Path, sys.argv[1:])).close()
