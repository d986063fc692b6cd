"""The server of `provider_server.py` as a process, and the embedders that use it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from directory_indexer.embedding.loading import ServiceAccess, build_embedder, space_of_settings
from directory_indexer.embedding.remote import RemoteEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = Path(__file__).with_name("provider_server.py")
PROTOCOLS = ("ollama", "openai", "azure")
MODEL = "bag-of-words"
KEY = "sk-secret-of-tests"


class ProviderServer:
    """A process that serves embeddings; `control` sets what it is and how it fails, and forgets what it was asked."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.root = f"http://127.0.0.1:{self.port}"
        self._embedders: list[RemoteEmbedder] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def control(self, **settings: Any) -> None:
        self._call(json.dumps(settings).encode())

    def fail(self, kind: str, *, others: dict[str, Any] | None = None, **fault: Any) -> None:
        self.control(faults=[{"kind": kind, **fault}], **(others or {}))

    @property
    def requests(self) -> list[dict[str, Any]]:
        asked = self._call(None)
        assert isinstance(asked, list)
        return asked

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["texts"]]

    def endpoint(self, protocol: str) -> str:
        paths = {"ollama": "", "openai": "/v1", "azure": "/openai?api-version=2024-10-21"}
        return self.root + paths[protocol]

    def embedder(  # noqa: PLR0913 - what a configuration can say
        self,
        protocol: str,
        *,
        model: str = MODEL,
        key: str | None = None,
        dimensions: int | None = None,
        endpoint: str | None = None,
        access: ServiceAccess | None = None,
        sleep: Callable[[float], None] = lambda _: None,
    ) -> RemoteEmbedder:
        """Build the embedder that a configuration for this server gives; it waits for nothing unless told to."""
        space = space_of_settings(
            "ollama" if protocol == "ollama" else "openai",
            model,
            endpoint=endpoint or self.endpoint(protocol),
            dimensions=dimensions,
            document_prefix=None,
            query_prefix=None,
        )
        access = access or ServiceAccess(api_key=key or ("none" if protocol == "azure" else None))
        embedder = build_embedder(space, access, sleep=sleep)
        assert isinstance(embedder, RemoteEmbedder)
        self._embedders.append(embedder)
        return embedder

    def close_embedders(self) -> None:
        while self._embedders:
            self._embedders.pop().close()

    def _call(self, body: bytes | None) -> object:
        with urllib.request.urlopen(urllib.request.Request(f"{self.root}/control", body)) as response:  # noqa: S310
            return json.load(response)
