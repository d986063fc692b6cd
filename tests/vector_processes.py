"""Programs that write and read one vector store until they are killed or told to stop.

A file beside the store names the current generation and the chunks it holds, as the database does in the product:
those with numbers from `first` up to `end`, a window that every merge moves on.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from vectors import Corpus, chunk_id, points, unit_vectors

from directory_indexer.core.errors import GenerationGoneError
from directory_indexer.core.lock import write_lock
from directory_indexer.storage.vectors import VectorScope
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations


class State(NamedTuple):
    """What the database would say."""

    generation: int
    first: int
    end: int


class Place(NamedTuple):
    """Where a store lies with what belongs to it."""

    directory: Path
    dimensions: int

    @property
    def stop(self) -> Path:
        return self.directory / "stop"

    @property
    def lock(self) -> Path:
        return self.directory / "write.lock"

    def open(self) -> EmbeddedVectorStore:
        return EmbeddedVectorStore(Generations(self.directory / "qdrant" / "chunks"), dimensions=self.dimensions)

    def read(self) -> State:
        return State(*json.loads((self.directory / "state.json").read_text()))

    def commit(self, state: State) -> None:
        new = self.directory / "state.new"
        new.write_text(json.dumps(state))
        new.replace(self.directory / "state.json")


def write_once(place: Place, store: EmbeddedVectorStore, randomness: random.Random) -> None:
    """Move the window on, replacing some of what stays."""
    with write_lock(place.lock, wait=True):
        state = place.read()
        store.discard_others(state.generation)
        step = randomness.randrange(1, (state.end - state.first) // 8)
        same = randomness.sample(range(state.first + step, state.end), step)
        generation = store.merge(
            state.generation,
            deletes=map(chunk_id, range(state.first, state.first + step)),
            upserts=points([*same, *range(state.end, state.end + step)], dimensions=place.dimensions),
        )
        place.commit(State(generation, state.first + step, state.end + step))
        store.discard_others(generation)


def check_once(place: Place, store: EmbeddedVectorStore, randomness: random.Random) -> State:
    """Compare what the store holds and finds with what it should."""
    while True:
        state = place.read()
        try:
            _check(store, state, randomness, dimensions=place.dimensions)
        except GenerationGoneError:
            assert place.read() != state, f"the current generation is gone: {state}"
        else:
            return state


def _check(store: EmbeddedVectorStore, state: State, randomness: random.Random, *, dimensions: int) -> None:
    numbers = range(state.first, state.end)
    query = unit_vectors([randomness.randrange(state.end + 100)], dimensions=dimensions)[0]
    hits = store.open_generation(state.generation).search(query, scope=VectorScope(), limit=10)
    ids = sorted(store.open_generation(state.generation).ids())
    assert ids == [chunk_id(number) for number in numbers], f"other chunks than in {state}"
    exact = Corpus(points(numbers, dimensions=dimensions)).scores(query, scope=VectorScope())
    found = [exact[hit.chunk_id] for hit in hits]
    assert len(found) == 10
    assert np.allclose(found, list(exact.values())[:10], atol=8e-3), f"worse hits than there are in {state}"


def main() -> None:
    role, directory, dimensions, seed = sys.argv[1:]
    place = Place(Path(directory), int(dimensions))
    store = place.open()
    randomness = random.Random(int(seed))  # noqa: S311
    _say("ready")
    n_rounds, states = 0, set()
    while not place.stop.exists():
        if role == "write":
            write_once(place, store, randomness)
            _say("written")
        else:
            states.add(check_once(place, store, randomness))
        n_rounds += 1
    _say(json.dumps([n_rounds, len(states)]))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
