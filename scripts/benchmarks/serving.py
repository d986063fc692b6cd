"""`dirindex serve`: how soon it answers, what it holds, and how fast it searches, alone and for several at once."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from benchmarks.corpus import N_PARTS, corpus_of
from benchmarks.measure import DIRINDEX, Cost, Options, Row, percentile, times
from benchmarks.search import queries

from directory_indexer.embedding.model_files import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.corpus import Corpus
    from numpy.typing import NDArray

_N_CALLS = 200
_N_AT_ONCE = 8
_N_HITS = 10
_N_SCANS = 50


def serving(options: Options) -> Iterator[Row]:
    """Measure the life of servers from the start of the process on, then servers that many calls reach."""
    if not Path("/proc/self/stat").exists():
        sys.exit("serving reads /proc, which this system does not have")
    corpus = corpus_of(options.n_chunks, options.place)
    lives = [_life(corpus.data_dir) for _ in range(options.rounds)]
    for what in lives[0]:
        yield Row(f"serve, start to {what}", "ms of processor", statistics.median(life[what].cpu for life in lives))
        yield Row(f"serve, start to {what}", "ms of the clock", statistics.median(life[what].wall for life in lives))
    with Server(corpus.data_dir) as server:
        server.until_ready()
        yield Row(f"serve at rest, {corpus.n_chunks:,} chunks", "MB", server.memory()["VmRSS"])
        yield Row("  of it not shared with files", "MB", server.memory()["RssAnon"])
        yield from _calls(server, corpus)
        yield from _calls_at_once(server)
        yield Row("serve afterwards", "MB", server.memory()["VmRSS"])
    large = corpus_of(options.n_chunks_large, options.place)
    with Server(large.data_dir) as server:
        server.until_ready()
        yield from _calls(server, large)


def _life(data_dir: Path) -> dict[str, Cost]:
    with Server(data_dir) as server:
        server.shake_hands()
        handshake = server.spent()
        server.call("server_info")
        info = server.spent()
        server.call("search", query=queries(1)[0])
        return {"handshake": handshake, "first answer": info, "first search": server.spent()}


def _calls(server: Server, corpus: Corpus) -> Iterator[Row]:
    """Measure calls one at a time, in the whole index and in a fiftieth of it, a different one each time.

    Other calls come first: an index that nobody has asked for a while comes from the disk, and so measures the disk.
    """
    earlier_queries, timed_queries = queries(2 * _N_CALLS)[_N_CALLS:], queries(_N_CALLS)
    for query in earlier_queries:
        server.call("search", query=query)
    vectors = np.random.default_rng(7).standard_normal((corpus.n_chunks, DIMENSIONS), np.float32)
    paths = {"everywhere": itertools.repeat(""), "in a fiftieth": itertools.cycle(map(str, corpus.parts))}
    lots = {"everywhere": None, "in a fiftieth": np.arange(0, len(vectors), N_PARTS)}
    for where, path in paths.items():
        started = server.spent()
        taken = times(
            lambda call: server.call("search", query=call[0], path=call[1]),
            list(zip(timed_queries, path, strict=False)),
        )
        spent = server.spent().cpu - started.cpu
        scans = _brute_force(vectors, lots[where])
        what = f"search in serve, {corpus.n_chunks:,} chunks, {where}"
        for name, percent in (("median", 50), ("95 of 100", 95)):
            ours, scan = percentile(taken, percent), percentile(scans, percent)
            yield Row(f"{what}, {name}", "ms of the clock", ours, scan, "numpy, vectors in float32")
        yield Row("  a call", "ms of processor", spent / _N_CALLS)


def _brute_force(vectors: NDArray[np.float32], lot: NDArray[np.int64] | None) -> list[float]:
    def scan(query: NDArray[np.float32]) -> object:
        scores = (vectors if lot is None else vectors[lot]) @ query
        best = np.argpartition(scores, -_N_HITS)[-_N_HITS:]
        return best[np.argsort(-scores[best])]

    return times(scan, list(np.random.default_rng(8).standard_normal((_N_SCANS, DIMENSIONS), np.float32)))


def _calls_at_once(server: Server) -> Iterator[Row]:
    taken = _at_once(server, queries(_N_CALLS))
    for name, percent in (("median", 50), ("95 of 100", 95)):
        yield Row(f"search in serve, {_N_AT_ONCE} at once, {name}", "ms of the clock", percentile(taken, percent))


def _at_once(server: Server, texts: Sequence[str]) -> list[float]:
    taken: list[float] = []

    def work(number: int) -> None:
        taken.extend(times(lambda query: server.call("search", query=query), texts[number::_N_AT_ONCE]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(_N_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(taken) < len(texts):
        sys.exit(f"{len(texts) - len(taken)} of {len(texts)} calls failed")
    return taken


class Server:
    """A server whose answers may come in any order."""

    def __init__(self, data_dir: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self._started = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603 - ours
            [DIRINDEX, "serve", "--data-dir", str(data_dir), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self._answers: dict[int, Any] = {}
        self._last_id = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]  # it was asked for at the start
        self._process.wait()

    def shake_hands(self) -> None:
        """Begin a session."""
        client = {"name": "bench", "version": "1"}
        self._request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})

    def until_ready(self) -> None:
        """Begin a session and wait for the model."""
        self.shake_hands()
        self.call("search", query=queries(1)[0], mode="semantic")

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool."""
        result = self._request("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            sys.exit(f"{tool} failed: {result['content'][0]['text']}")
        return result

    def spent(self) -> Cost:
        """Return the time since the start of the process."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return Cost(ticks / os.sysconf("SC_CLK_TCK") * 1000, (time.perf_counter() - self._started) * 1000)

    def memory(self) -> dict[str, float]:
        """Return its memory in megabytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        sizes = dict(line.split(":", 1) for line in status.splitlines())
        return {name: int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")}

    def _request(self, method: str, **params: Any) -> Any:
        with self._changed:
            self._last_id += 1
            request_id = self._last_id
            self._send({"id": request_id, "method": method, "params": params})
            self._changed.wait_for(lambda: request_id in self._answers)
            answer = self._answers.pop(request_id)
        return answer["result"] if "result" in answer else sys.exit(f"{method} failed: {answer}")

    def _send(self, message: dict[str, Any]) -> None:
        stream = self._process.stdin
        stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")  # type: ignore[union-attr]  # as above
        stream.flush()  # type: ignore[union-attr]  # as above

    def _read(self) -> None:
        for line in self._process.stdout or ():
            message = json.loads(line)
            with self._changed:
                self._answers[message.get("id", 0)] = message
                self._changed.notify_all()
