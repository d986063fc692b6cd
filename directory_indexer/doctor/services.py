"""Checks of the services of an index: the embedding model, and OCR."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator

from directory_indexer.embedders import Embedder
from directory_indexer.embedders.models import LanguageAdvice
from directory_indexer.errors import ProviderError, StoreError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.ocr.choosing import PageReading
from directory_indexer.page_cache import PageCache

_MIB = 1 << 20


def ocr_finding(reading: PageReading, cache: PageCache) -> Finding:
    """Return the OCR engine and the size of its cache; a service is not called."""
    summary = cache.summary()
    pages = "page" if summary.n_pages == 1 else "pages"
    cached = f"{summary.n_pages:,} {pages} kept in {math.ceil(10 * summary.n_bytes / _MIB) / 10:,.1f} MiB"
    try:
        name = reading.name()
    except ProviderError as error:
        return Finding("OCR", Verdict.PROBLEM, error.message, error.hint or "")
    if name is None:
        return Finding("OCR", Verdict.OK, f"scanned pages are not read; {cached}", reading.advice())
    return Finding("OCR", Verdict.OK, f"{name}; {cached}")


def language_findings(get_advice: Callable[[], LanguageAdvice | None]) -> Iterator[Finding]:
    """Yield a warning if many documents are in languages that the model does not understand."""
    advice = None
    with contextlib.suppress(StoreError):  # the check of the database reports it
        advice = get_advice()
    if advice:
        yield Finding("languages", Verdict.WARNING, advice.message, advice.hint)


def provider_finding(load: Callable[[], Embedder]) -> Finding:
    """Embed a few words, and return the result as a finding."""
    started = time.monotonic()
    try:
        embedder = load()
        vector = embedder.embed_query("is anybody there?")
        seconds = time.monotonic() - started
        space, max_tokens = embedder.space, embedder.max_tokens
    except ProviderError as error:
        return Finding("provider", Verdict.PROBLEM, error.message, error.hint or "")
    name = f"{space.provider}/{space.model}"
    reads = f", and reads the first {max_tokens:,} tokens of a text" if max_tokens else ""
    message = f"{name} answers in {seconds:.2f} s with {vector.size} dimensions{reads}"
    return Finding("provider", Verdict.OK, message)
