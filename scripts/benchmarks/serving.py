"""`dirindex serve`: how soon it answers, what it holds, and how fast it searches, alone and for several at once."""

from __future__ import annotations

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
from benchmarks.measure import DIRINDEX, Cost, Options, Row, percentile
from benchmarks.search import large_index, queries

from directory_indexer.embedders.model_files import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_N_CALLS = 200
_N_AT_ONCE = 8
_N_HITS = 10


def serving(options: Options) -> Iterator[Row]:
    """Measure the life of servers from the start of the process on, then one that many calls reach."""
    if not Path("/proc/self/stat").exists():
        sys.exit("serving reads /proc, which this system does not have")
    data_dir, n_chunks = large_index(options)
    lives = [_life(data_dir) for _ in range(options.rounds)]
    for what in lives[0]:
        yield Row(f"serve, start to {what}", "ms of processor", statistics.median(life[what].cpu for life in lives))
        yield Row(f"serve, start to {what}", "ms of the clock", statistics.median(life[what].wall for life in lives))
    with Server(data_dir) as server:
        server.until_ready()
        yield Row(f"serve at rest, {n_chunks:,} chunks", "MB", server.memory()["VmRSS"])
        yield Row("  of it not shared with files", "MB", server.memory()["RssAnon"])
        yield from _calls(server, n_chunks)
        yield Row("serve afterwards", "MB", server.memory()["VmRSS"])


def _life(data_dir: Path) -> dict[str, Cost]:
    with Server(data_dir) as server:
        server.shake_hands()
        handshake = server.spent()
        server.call("server_info")
        info = server.spent()
        server.call("search", query=queries(1)[0])
        return {"handshake": handshake, "first answer": info, "first search": server.spent()}


def _calls(server: Server, n_chunks: int) -> Iterator[Row]:
    scans = _brute_force(n_chunks)
    started = server.spent()
    alone = _times(lambda query: server.call("search", query=query), queries(_N_CALLS))
    spent = server.spent().cpu - started.cpu
    for name, percent in (("median", 50), ("95 of 100", 95)):
        what = f"search in serve, one at a time, {name}"
        yield Row(what, "ms of the clock", percentile(alone, percent), percentile(scans, percent), "numpy, all vectors")
    yield Row("  a call", "ms of processor", spent / _N_CALLS)
    at_once = _at_once(server, queries(_N_CALLS))
    for name, percent in (("median", 50), ("95 of 100", 95)):
        yield Row(f"search in serve, {_N_AT_ONCE} at once, {name}", "ms of the clock", percentile(at_once, percent))


def _brute_force(n_chunks: int) -> list[float]:
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((n_chunks, DIMENSIONS), np.float32)
    wanted = chance.standard_normal((50, DIMENSIONS), np.float32)

    def scan(query: np.ndarray[Any, Any]) -> object:
        scores = vectors @ query
        best = np.argpartition(scores, -_N_HITS)[-_N_HITS:]
        return best[np.argsort(-scores[best])]

    return _times(scan, list(wanted))


def _times(work: Callable[[Any], object], items: Sequence[Any]) -> list[float]:
    taken = []
    for item in items:
        started = time.perf_counter()
        work(item)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def _at_once(server: Server, asked: Sequence[str]) -> list[float]:
    taken: list[float] = []

    def work(number: int) -> None:
        taken.extend(_times(lambda query: server.call("search", query=query), asked[number::_N_AT_ONCE]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(_N_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(taken) < len(asked):
        sys.exit(f"{len(asked) - len(taken)} of {len(asked)} calls failed")
    return taken


class Server:
    """A server whose answers may come in any order."""

    def __init__(self, data_dir: Path) -> None:
        self._started = time.perf_counter()
        command = [DIRINDEX, "serve", "--data-dir", str(data_dir)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - ours
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
        """Tell how much time has passed since the start of the process."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return Cost(ticks / os.sysconf("SC_CLK_TCK") * 1000, (time.perf_counter() - self._started) * 1000)

    def memory(self) -> dict[str, float]:
        """Tell how many megabytes it holds."""
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
