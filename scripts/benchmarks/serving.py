"""Benchmarks of servers: start-up, memory and search times for one client, a page and a team."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar

import numpy as np
from benchmarks.corpus import N_PARTS, Corpus, corpus_of, queries
from benchmarks.measure import DIRINDEX, Cost, Options, Row, percentile, percentile_rows, times
from indexes import Index
from numpy.typing import NDArray
from playwright.sync_api import sync_playwright
from providers import ProviderServer
from web_servers import ColdWebServer, new_key

from directory_indexer.embedding.loading import ServiceAccess
from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.storage.documents.runs import Outcome

Item = TypeVar("Item")

_N_CALLS: Final = 200
_N_AT_ONCE: Final = 8
_N_HITS: Final = 10
_N_SCANS: Final = 50
_USERS: Final = (10, 50, 200)
_N_QUERIES: Final = 1000
_RETRY_LATER: Final = (http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE)
_N_DOCUMENTS: Final = 100
_N_CHUNKS_SMALL: Final = 22_000
_N_REQUESTS: Final = 64
_LATENCY_SECONDS: Final = 0.25
_PROVIDER_DIMENSIONS: Final = 768
_N_KEYS: Final = 200
_N_KEYS_BEFORE: Final = 60
_PACE_MS: Final = 150
"""As people type: four hundred keys a minute."""

_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")
_WATCH = """
window.taken = { shown: [], painted: [] };
let pressed = 0;
addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
addEventListener("DOMContentLoaded", () => new MutationObserver((changes) => {
  if (!pressed || !changes.some(({ target }) => target.matches?.("ol.hits"))) return;
  const began = pressed;
  pressed = 0;
  taken.shown.push(performance.now() - began);
  requestAnimationFrame(() => {
    const after = new MessageChannel();
    after.port1.onmessage = () => taken.painted.push(performance.now() - began);
    after.port2.postMessage(null);
  });
}).observe(document, { childList: true, subtree: true }));
"""
_FORGET = "taken.shown.length = taken.painted.length = 0"


def serving(options: Options) -> Iterator[Row]:
    """Measure servers from the start of the process, then under concurrent calls."""
    corpus = corpus_of(options.n_chunks, options.place)
    lives = [_life(corpus.data_dir) for _ in range(options.rounds)]
    for what in lives[0]:
        yield Row(f"serve, start to {what}", "ms of processor", statistics.median(life[what].cpu for life in lives))
        yield Row(f"serve, start to {what}", "ms of the clock", statistics.median(life[what].wall for life in lives))
    with Server(corpus.data_dir) as server:
        server.until_ready()
        yield Row(f"serve at rest, {corpus.n_chunks:,} chunks", "MB", memory_of(server.pid)["VmRSS"])
        yield Row("  of it not shared with files", "MB", memory_of(server.pid)["RssAnon"])
        yield from _calls(server, corpus)
        taken = _at_once(lambda query: server.call("search", query=query), queries(_N_CALLS), n_threads=_N_AT_ONCE)
        yield from percentile_rows(f"search in serve, {_N_AT_ONCE} at once", "ms of the clock", taken)
        yield Row("serve afterwards", "MB", memory_of(server.pid)["VmRSS"])
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
    """Measure sequential, distinct calls, in the whole index and in a fiftieth of it.

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
        calls = list(zip(timed_queries, path, strict=False))
        taken = times(lambda call: server.call("search", query=call[0], path=call[1]), calls)
        spent = server.spent().since(started).cpu
        what, scans = f"search in serve, {corpus.n_chunks:,} chunks, {where}", _brute_force(vectors, lots[where])
        yield from percentile_rows(what, "ms of the clock", taken, scans, of="numpy, vectors in float32")
        yield Row("  a call", "ms of processor", spent / _N_CALLS)


def _brute_force(vectors: NDArray[np.float32], lot: NDArray[np.int64] | None) -> list[float]:
    def scan(query: NDArray[np.float32]) -> object:
        scores = (vectors if lot is None else vectors[lot]) @ query
        best = np.argpartition(scores, -_N_HITS)[-_N_HITS:]
        return best[np.argsort(-scores[best])]

    return times(scan, list(np.random.default_rng(8).standard_normal((_N_SCANS, DIMENSIONS), np.float32)))


def _at_once(work: Callable[[Item], object], items: Sequence[Item], *, n_threads: int) -> list[float]:
    """Process items in threads, and return the milliseconds of each."""
    taken: list[float] = []
    threads = [
        threading.Thread(target=lambda number=number: taken.extend(times(work, items[number::n_threads])))
        for number in range(n_threads)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(taken) < len(items):
        sys.exit(f"{len(items) - len(taken)} of {len(items)} calls failed")
    return taken


def team(options: Options) -> Iterator[Row]:
    """Measure users who search again as soon as they get an answer, in a small and in a large index.

    Who is told to come back later does so, and waits the longer.
    """
    for n_chunks in sorted({min(_N_CHUNKS_SMALL, options.n_chunks), options.n_chunks}):
        corpus = corpus_of(n_chunks, options.place)
        key = new_key(corpus.data_dir, f"bench-{time.time_ns()}", "--right", "admin")
        environ = {"DIRINDEX_SERVING__REQUESTS_PER_SECOND": "10000"}
        with ColdWebServer(corpus.data_dir, "--watch", **environ) as server:
            users = _Users(server, key)
            for query in queries(50):
                users.search(query)
            yield Row(f"serve --http at rest, {corpus.n_chunks:,} chunks", "MB", memory_of(server.process.pid)["VmRSS"])
            for n_users in _USERS:
                yield from users.measure(f"{n_users} users, {corpus.n_chunks:,} chunks", n_users)
            sender = threading.Thread(target=users.send_documents)
            sender.start()
            yield from users.measure(f"{_USERS[0]} users and a sender, {corpus.n_chunks:,} chunks", _USERS[0])
            sender.join()
            yield from percentile_rows("  a document sent, until it is searchable", "ms of the clock", users.sent)
            yield Row("  documents that were not taken, or not found", "documents", users.n_missing)
            yield Row("serve --http afterwards", "MB", memory_of(server.process.pid)["VmRSS"])


class _Users:
    """Users of a server, one of whom sends documents."""

    def __init__(self, server: ColdWebServer, key: str) -> None:
        self._server, self._key = server, key
        self._statuses: Counter[int] = Counter()
        self.sent: list[float] = []
        self.n_missing = 0

    def search(self, query: str) -> None:
        """Search until there is an answer."""
        while True:
            answer = self._server.ask("POST", "/api/v1/search", {"query": query, "limit": 10}, key=self._key)
            self._statuses[answer.status] += 1
            if answer.status not in _RETRY_LATER:
                return
            time.sleep(float(answer.headers.get("Retry-After", "1")))

    def measure(self, what: str, n_users: int) -> Iterator[Row]:
        """Send a thousand queries from concurrent users, each one after the answer to the last."""
        before, started = cpu_ms_of(self._server.process.pid), time.perf_counter()
        self._statuses.clear()
        taken = _at_once(self.search, queries(_N_QUERIES), n_threads=n_users)
        seconds = time.perf_counter() - started
        yield from percentile_rows(what, "ms of the clock", taken)
        yield Row(f"{what}, 99 of 100", "ms of the clock", percentile(taken, 99))
        yield Row("  a search", "ms of processor", (cpu_ms_of(self._server.process.pid) - before) / _N_QUERIES)
        yield Row("  all of them", "searches a second", _N_QUERIES / seconds)
        n_later = sum(self._statuses[status] for status in _RETRY_LATER)
        yield Row("  HTTP 429 and 503, retry later", "answers", n_later)
        yield Row("  other errors", "answers", self._statuses.total() - self._statuses[200] - n_later)

    def send_documents(self) -> None:
        """Send documents in sequence, search for each at the end, and delete them."""
        ids = {}
        for number, lines in enumerate(zip(*[iter(queries(_N_DOCUMENTS * 40))] * 40, strict=True)):
            word = f"sentdocument{number:03}"
            body = {"text": "\n".join((word, *lines)), "metadata": {"filename": f"sent-{number}.md"}}
            started = time.perf_counter()
            answer = self._server.ask("POST", "/api/v1/ingest", body, key=self._key)
            self.sent.append((time.perf_counter() - started) * 1000)
            if answer.status in {http.client.OK, http.client.CREATED}:
                ids[word] = answer.json["doc_id"]
        is_found = [word in self._server.search(word, key=self._key).text for word in ids]
        self.n_missing = _N_DOCUMENTS - sum(is_found)
        for doc_id in ids.values():
            self._server.ask("DELETE", f"/api/v1/documents/{doc_id}", key=self._key)


class _Page(ColdWebServer):
    command: ClassVar[tuple[str, ...]] = ("ui", "--no-browser", "--port", "0")


def providers(options: Options) -> Iterator[Row]:
    """Measure the share of a provider's capacity that a run uses; each request takes a quarter of a second.

    The ideal is as many requests under way at every moment as are allowed. What is missing to it goes into JSON, SQLite
    and the server's own work.
    """
    with ProviderServer() as server:
        server.control(latency_seconds=_LATENCY_SECONDS, dimensions=_PROVIDER_DIMENSIONS, is_canned=True)
        for concurrency in (1, 4, 16):
            seconds = statistics.median(_embedding_seconds(server, concurrency) for _ in range(options.rounds))
            ideal = _LATENCY_SECONDS * _N_REQUESTS / concurrency
            yield Row(f"embedding by a provider, {concurrency} at a time", "s of the clock", seconds, ideal, "ideal")


def _embedding_seconds(server: ProviderServer, concurrency: int) -> float:
    """Index files by words, then measure the embedding time."""
    embedder = server.embedder("openai", access=ServiceAccess("key", concurrency=concurrency))
    embedder.embed_documents([f"text {number}" for number in range(embedder.batch_size)])  # the answer that all get
    with tempfile.TemporaryDirectory() as directory:
        index = Index(root=Path(directory, "docs"), data_dir=Path(directory, "data"), provider=embedder)
        n_files = _N_REQUESTS * embedder.batch_size
        for number in range(n_files):
            index.write(f"{number % 50}/{number}.md", f"note {number} about the harbour of town{number}")
        index.run(stop_reason=lambda: Outcome.OUT_OF_TIME if _is_read(index, n_files) else None)
        started = time.perf_counter()
        if sum(step.n_embedded for step in index.vectorizer.embed_waiting()) != n_files:
            sys.exit("not all of them were embedded")
        seconds = time.perf_counter() - started
        index.close()
    return seconds


def _is_read(index: Index, n_files: int) -> bool:
    return bool(index.progress) and index.progress[-1].files_done == n_files


def page(options: Options) -> Iterator[Row]:
    """Type queries into the page key by key, and measure the time until the list of hits changes."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("page needs Chromium")
    corpus = corpus_of(options.n_chunks, options.place)
    with _Page(corpus.data_dir) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_OPTIONS)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.add_init_script(_WATCH)
        opened.goto(server.url)
        opened.wait_for_selector(".hits > li")
        _type(opened, _N_KEYS_BEFORE)
        opened.wait_for_timeout(1_000)
        opened.evaluate(_FORGET)
        _type(opened, _N_KEYS)
        taken: dict[str, list[float]] = opened.evaluate("taken")
        browser.close()
    for what, figures in (("are in the page", taken["shown"]), ("are painted", taken["painted"])):
        name = f"from a key until hits {what}, {corpus.n_chunks:,} chunks, {len(figures)} keys"
        yield from percentile_rows(name, "ms of the browser's clock", figures)
        yield Row(f"{name}, slowest", "ms of the browser's clock", max(figures))


def _type(opened: Any, n_keys: int) -> None:
    """Type one query after another, each into an empty field."""
    left = n_keys
    for query in itertools.cycle(queries(50)):
        opened.locator("#query").fill("")
        opened.wait_for_timeout(1_000)
        for sign in query[:left]:
            opened.keyboard.press(sign if sign != " " else "Space")
            opened.wait_for_timeout(_PACE_MS)
        left -= len(query)
        if left <= 0:
            return


def cpu_ms_of(pid: int) -> float:
    """Return the processor time of a process in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1000


def memory_of(pid: int) -> dict[str, float]:
    """Return the memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    return {name: int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")}


class Server:
    """A server whose answers may come in any order."""

    def __init__(self, data_dir: Path) -> None:
        self._started = time.perf_counter()
        words = [DIRINDEX, "serve", "--data-dir", str(data_dir)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - ours
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

    @property
    def pid(self) -> int:
        return self._process.pid

    def spent(self) -> Cost:
        """Return the time since the start of the process."""
        return Cost(cpu_ms_of(self.pid), (time.perf_counter() - self._started) * 1000)

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
