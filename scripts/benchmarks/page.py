"""The page of `dirindex ui` in a browser: how soon hits stand there after a key, by the clock of the browser."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import corpus_of
from benchmarks.measure import DIRINDEX, Options, Row, percentile
from benchmarks.search import queries
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_N_KEYS = 200
_N_KEYS_BEFORE = 60
_PACE_MS = 150
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


def page(options: Options) -> Iterator[Row]:
    """Type queries into the page, a key at a time, and take the time until the list of hits is another one."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("page needs Chromium\n")
        return
    corpus = corpus_of(options.n_chunks, options.place)
    with _address(corpus.data_dir) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_OPTIONS)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.add_init_script(_WATCH)
        opened.goto(address)
        opened.wait_for_selector(".hits > li")
        _type(opened, _N_KEYS_BEFORE)
        opened.wait_for_timeout(1_000)
        opened.evaluate(_FORGET)
        _type(opened, _N_KEYS)
        taken: dict[str, list[float]] = opened.evaluate("taken")
        browser.close()
    for what, figures in (("are in the page", taken["shown"]), ("are painted", taken["painted"])):
        yield from _rows(f"from a key until hits {what}, {corpus.n_chunks:,} chunks, {len(figures)} keys", figures)


def _rows(what: str, figures: list[float]) -> Iterator[Row]:
    percentiles = {"median": percentile(figures, 50), "95 of 100": percentile(figures, 95), "slowest": max(figures)}
    for name, figure in percentiles.items():
        yield Row(f"{what}, {name}", "ms of the browser's clock", figure)


def _type(opened: Any, n_keys: int) -> None:
    """Type one query after the other; each begins in an empty field."""
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


@contextlib.contextmanager
def _address(data_dir: Path) -> Iterator[str]:
    command = [DIRINDEX, "ui", "--no-browser", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - ours
        for line in server.stderr or ():
            if match := re.search(r"http://\S+", line):
                yield match[0]
                break
        server.terminate()
