"""Writers and readers of one vector store that are killed at random moments."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import vector_processes
from vector_processes import Place, State, check_once, write_once
from vectors import points

PROGRAM = Path(vector_processes.__file__)


class Crowd:
    """The processes of one test, all with the same store."""

    def __init__(self, place: Place, randomness: random.Random) -> None:
        self._place = place
        self._randomness = randomness

    def start(self, role: str) -> subprocess.Popen[str]:
        seed = self._randomness.randrange(1_000_000)
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), role, str(self._place.directory), str(self._place.dimensions), str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        return process

    def kill(self, process: subprocess.Popen[str], *, after_rounds: int, within_seconds: float) -> None:
        assert process.stdout
        for _ in range(after_rounds):
            assert process.stdout.readline() == "written\n", process.communicate()[1]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self._randomness.uniform(0, within_seconds))
            pytest.fail(f"it ended before it was killed: {process.communicate()[1]}")
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("n_chunks", "dimensions", "n_readers", "n_kills"),
    [
        pytest.param(300, 32, 1, 4, id="few", marks=pytest.mark.timeout(300)),
        pytest.param(5600, 2048, 3, 40, id="quantized", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_readers_never_notice_that_writers_and_readers_are_killed(
    tmp_path: Path, n_chunks: int, dimensions: int, n_readers: int, n_kills: int
) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    sys.stdout.write(f"seed {seed}\n")
    randomness = random.Random(seed)  # noqa: S311
    place = Place(tmp_path, dimensions)
    store = place.open()
    place.commit(State(store.merge(0, deletes=(), upserts=points(range(n_chunks), dimensions=dimensions)), 0, n_chunks))
    crowd = Crowd(place, randomness)
    readers = [crowd.start("read") for _ in range(n_readers)]
    started = time.perf_counter()
    write_once(place, store, randomness)
    within_seconds = 1.5 * (time.perf_counter() - started)
    n_written = 2
    for n_killed in range(n_kills):
        role, after_rounds = ("write", randomness.randrange(2)) if n_killed % 4 else ("read", 0)
        crowd.kill(crowd.start(role), after_rounds=after_rounds, within_seconds=within_seconds)
        check_once(place, store, randomness)
        n_written += after_rounds
        assert place.read().generation >= n_written
    write_once(place, store, randomness)
    check_once(place, store, randomness)
    place.stop.touch()
    for reader in readers:
        output, errors = reader.communicate()
        assert reader.returncode == 0, errors
        n_rounds, n_states = json.loads(output)
        assert n_rounds >= n_states >= 1

    current = place.read().generation
    store.discard_others(current)
    left = {path.name for path in (tmp_path / "qdrant" / "chunks").iterdir()}
    assert left == {f"generation-{current}", f"generation-{current}.lock"}
    store.close()
