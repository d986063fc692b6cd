"""Training on a GPU in a quarter of an hour: tries recipes, trains the best with two seeds, then the reader.

    packaging/model/device.py DATA OUT SECONDS embedding|reading [--tiny]

`DATA` holds `base.npz` (the published layers as halves), `train.npz`, `dev.npz`, `prose.npz` and `sets.npz`; vectors of
words are taken from the packaged model. What is done is written to `OUT/log.txt` and, whenever a part is done, weights
as halves without the vectors of words. What an earlier call has left in `DATA` is not done again.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import reader
import torch
from development import of_pairs, of_sets
from minilm import FROZEN, Encoder
from tokens import Pairs, Texts
from train import Recipe, Watch, between, train

TABLE = Path("directory_indexer/models/all-MiniLM-L6-v2/weights.bin")
WORDS, SCALES, ROWS = 0, 11_730_944, 30_522
FACTORS = (0.25, 0.5, 0.75, 1.0)


class Run:
    """The data on the device, and a log."""

    def __init__(self, data: Path, out: Path, device: str) -> None:
        self.data, self.out, self.device = data, out, device
        self.start = time.monotonic()
        self.base = base_weights(data)
        self.train = Pairs.of(np.load(data / "train.npz"), device)
        self.dev = Pairs.of(np.load(data / "dev.npz"), device)
        prose = np.load(data / "prose.npz")
        self.prose = Texts.of(prose["passages"], prose["passage_lengths"], device)
        self.sets = dict(np.load(data / "sets.npz").items())
        self.say(f"loaded {len(self.train.kind)} pairs, {len(self.train.passages.tokens)} tokens of passages")

    def say(self, line: str) -> None:
        line = f"{time.monotonic() - self.start:6.0f} {line}"
        print(line, flush=True)
        with (self.out / "log.txt").open("a") as log:
            log.write(line + "\n")

    def score(self, weights: dict[str, np.ndarray], name: str) -> dict[str, float]:
        encoder = Encoder().read(weights).to(self.device).eval()
        scores = {"mined": of_pairs(encoder, self.dev, self.device)} | of_sets(encoder, self.sets, self.device)
        self.say(f"{name} {json.dumps({key: round(value, 4) for key, value in scores.items()})}")
        return scores

    def save(self, weights: dict[str, np.ndarray], name: str) -> None:
        """Write layers as halves, in parts that are small enough to be sent back."""
        halves = {key: value.astype(np.float16) for key, value in weights.items() if key not in FROZEN}
        np.savez(self.data / f"{name}.npz", **halves)
        keys = sorted(halves)
        for part, chosen in enumerate((keys[: len(keys) // 2], keys[len(keys) // 2 :])):
            np.savez(self.out / f"{name}.{part}.npz", **{key: halves[key] for key in chosen})


def base_weights(data: Path) -> dict[str, np.ndarray]:
    content = TABLE.read_bytes()
    rounded = np.frombuffer(content, np.int8, ROWS * 384, WORDS).reshape(ROWS, 384)
    scales = np.frombuffer(content, np.float32, ROWS, SCALES).reshape(ROWS, 1)
    weights = {key: value.astype(np.float32) for key, value in np.load(data / "base.npz").items()}
    return weights | {FROZEN[0]: rounded * scales}


def recipes(seconds: float, *, tiny: bool) -> dict[str, Recipe]:
    recipe = Recipe(seconds=seconds, steps=2 if tiny else 0, batch=8 if tiny else 1024)
    return {
        "plain": recipe,
        "distil": recipe._replace(distil=1.0, anchor=1.0),
        "fast": recipe._replace(rate=2.5e-4),
        "kept": recipe._replace(left_out=0.1),
        "soft": recipe._replace(distil=0.4, rate=2e-4, left_out=0.5),
    }


def best_factor(
    run: Run,
    base: dict[str, float],
    trained: list[dict[str, np.ndarray]],
    name: str,
    factors: tuple[float, ...] = FACTORS,
) -> tuple[float, float]:
    """Return the mean gain over the development sets, and the factor that has it; a loss counts twice.

    Held-out pairs do not count: they are like those that are trained on, and gain ten times as much as all else.
    """
    gains = []
    for factor in factors:
        scores = run.score(between(run.base, trained, factor), f"{name} {factor}")
        changes = [scores[key] - base[key] for key in base if key != "mined"]
        gains.append((float(np.mean(changes)) + sum(min(0.0, change) for change in changes) / len(changes), factor))
    return max(gains)


def embedding(run: Run, seconds: float, *, tiny: bool) -> None:
    base = run.score(run.base, "published")
    tries = recipes(seconds * 0.07, tiny=tiny)
    results = {}
    for name, recipe in tries.items():
        weights = train(run.base, run.train, run.prose, recipe, Watch(run.say))
        results[name] = best_factor(run, base, [weights], name, (0.5, 1.0))
        run.say(f"{name}: {results[name]}")
    chosen = max(results, key=lambda name: results[name][0])
    run.say(f"chosen: {chosen}")
    trained = []
    for seed in (1, 2):
        left = seconds - (time.monotonic() - run.start) - 12
        recipe = tries[chosen]._replace(seconds=left / (3 - seed), seed=seed)
        look = (lambda weights, step: run.score(weights, f"curve {step}")) if seed == 1 else None
        trained.append(train(run.base, run.train, run.prose, recipe, Watch(run.say, look)))
        run.save(trained[-1], f"seed{seed}")
        run.score(trained[-1], f"seed{seed}")
    gain, factor = best_factor(run, base, trained, "both")
    run.say(f"both: gain {gain:.4f} at {factor}")


def reading(run: Run, seconds: float, *, tiny: bool) -> None:
    """Train the reader, from the embedding model that the call before has left."""
    name = "seed1" if (run.data / "seed1.npz").exists() else "base"
    start = run.base | {key: value.astype(np.float32) for key, value in np.load(run.data / f"{name}.npz").items()}
    embedder = Encoder().read(start).to(run.device).eval()
    published = Encoder().read(run.base).to(run.device).eval()
    recipe = reader.Recipe(seconds=seconds - 40, steps=3 if tiny else 0, questions=8 if tiny else 192)
    weights = reader.train(start, embedder, run.train, recipe, run.say)
    run.save(weights, "reader")
    judge = reader.Reader().read(weights).to(run.device).eval()
    for name, scores in reader.of_sets(judge, published, run.sets, run.device).items():
        run.say(f"reader {name} {json.dumps({key: round(value, 4) for key, value in scores.items()})}")


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    run = Run(data, out, device)
    part = {"embedding": embedding, "reading": reading}[sys.argv[4]]
    part(run, float(sys.argv[3]), tiny="--tiny" in sys.argv)


if __name__ == "__main__":
    main()
