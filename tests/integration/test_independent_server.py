"""A server of OpenAI's API that others wrote, which also judges how its clients behave when it fails."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from indexes import Index

from directory_indexer.embedding.loading import ServiceAccess, build_embedder, space_of_settings
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.embedding import Embedder

LLMOCK = Path(sys.executable).with_name("llmock")
ACCESS = ServiceAccess("sk-test", batch_size=8, concurrency=4)

pytestmark = pytest.mark.skipif(not LLMOCK.exists(), reason="llmock is not installed")


@contextlib.contextmanager
def serving(*options: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words: list[str | Path] = [LLMOCK, "serve", "--port", str(port), "--log-level", "error", *options]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def embedder(url: str) -> Embedder:
    space = space_of_settings(
        "openai",
        "text-embedding-3-small",
        endpoint=f"{url}/v1",
        dimensions=None,
        document_prefix=None,
        query_prefix=None,
    )
    return build_embedder(space, ACCESS)


def verdict(url: str) -> dict[str, Any]:
    words: list[str | Path] = [LLMOCK, "report", "--url", url, "--json"]
    answer = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.slow
def test_texts_get_their_vectors(tmp_path: Path) -> None:
    with serving() as url, contextlib.closing(embedder(url)) as provider:
        vectors = provider.embed_documents(["one", "two", "one"])
        assert vectors.shape == (3, provider.space.dimensions) == (3, 1536)
        np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
        (tmp_path / "docs").mkdir()
        index = Index(root=tmp_path / "docs", data_dir=tmp_path / "data", provider=provider)
        for number in range(50):
            index.write(f"{number}.md", f"note {number}")
        report = index.run()
        assert (report.n_embedded, report.n_pending) == (50, 0)
        assert report.n_tokens > 0
        assert index.names("note 7", mode=SearchMode.SEMANTIC, limit=1) == ["7.md"]
        index.close()
        assert verdict(url)["errors"] == 0


@pytest.mark.slow
def test_a_server_that_fails_a_third_of_the_time_finds_no_fault_with_its_client(tmp_path: Path) -> None:
    faults = ("--error-rate", "429=0.1", "--error-rate", "500=0.1", "--error-rate", "503=0.1")
    with serving(*faults) as url, contextlib.closing(embedder(url)) as provider:
        (tmp_path / "docs").mkdir()
        index = Index(root=tmp_path / "docs", data_dir=tmp_path / "data", provider=provider)
        for number in range(240):
            index.write(f"{number}.md", f"note {number}")
        report = index.run()
        index.close()
        assert (report.n_embedded, report.refused, report.unavailable) == (240, (), "")
        assert verdict(url)["errors"] == 0


def _wait_for(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
            return
        time.sleep(0.1)
    raise AssertionError("llmock does not start")
