"""An index that one user after the other writes, who have nothing in common but a group, as in a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can be one user after the other"
)

FIRST, SECOND, GROUP = 1_000_710_000, 1_000_720_000, 1_000_700_000


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a place that other users can reach, with a volume of the group."""
    place = Path(tempfile.mkdtemp(prefix="dirindex-group-"))
    place.chmod(0o755)
    volume = place / "volume"
    volume.mkdir()
    os.chown(volume, 0, GROUP)
    volume.chmod(0o2770)
    yield place
    shutil.rmtree(place)


def run(place: Path, uid: int, *words: str | Path, shared: bool = True) -> subprocess.CompletedProcess[str]:
    home = place / str(uid)
    home.mkdir(exist_ok=True)
    os.chown(home, uid, 0)
    return subprocess.run(
        [DIRINDEX, *words],
        user=uid,
        group=0,
        extra_groups=[GROUP],
        cwd=place,
        env={
            **os.environ,
            "HOME": str(home),
            "DIRINDEX_DATA_DIR": str(place / "volume" / "index"),
            "DIRINDEX_STORAGE__SHARED_WITH_GROUP": str(shared).lower(),
        },
        capture_output=True,
        check=False,
        text=True,
        timeout=100,
    )


@pytest.mark.slow
def test_an_index_of_a_user_who_is_gone_is_read_written_and_repaired_by_the_next_one_of_its_group(place: Path) -> None:
    docs = place / "docs"
    docs.mkdir()
    (docs / "heron.txt").write_text("Herons wait in the shallows.")
    assert run(place, FIRST, "index", docs).returncode == 0
    assert run(place, FIRST, "doctor", "--repair").returncode == 0  # merges the vectors
    (docs / "stork.txt").write_text("Storks clatter.")
    assert "may have put anything there" in run(place, SECOND, "index", shared=False).stderr
    again = run(place, SECOND, "index")
    assert again.returncode == 0, again.stderr
    repaired = run(place, SECOND, "doctor", "--repair")
    assert repaired.returncode == 0, repaired.stdout
    assert "index is private" in repaired.stdout
    for uid in (SECOND, FIRST):
        assert "Storks clatter." in run(place, uid, "search", "clatter").stdout
    assert not [path for path in (place / "volume").rglob("*") if path.stat().st_mode & 0o007]
