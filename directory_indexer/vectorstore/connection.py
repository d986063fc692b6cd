"""Connection to a Qdrant server, with retries of transient failures."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from qdrant_client import QdrantClient

from directory_indexer.errors import VectorStoreError
from directory_indexer.vectorstore.failures import FOREIGN_ERRORS, failure_of

Answer = TypeVar("Answer")

_CONNECT_SECONDS = 3.0
"""An available server accepts a connection in milliseconds."""

_ATTEMPTS = 4
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Address:
    """The address and credentials of a Qdrant server; `grpc_port` selects gRPC instead of REST."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    grpc_port: int | None = None
    timeout_seconds: int = 30


class Connection:
    """The client of one server, created when it is first needed; threads may share it."""

    def __init__(self, address: Address, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.address = address
        self._sleep = sleep
        self._lock = threading.Lock()
        self._client: QdrantClient | None = None

    def ask(self, doing: str, question: Callable[[QdrantClient], Answer]) -> Answer:
        """Send a request once, since a user waits for the answer.

        Raises:
            VectorStoreError: the server cannot be reached, refuses, or its response is invalid.
        """
        try:
            return question(self._opened())
        except FOREIGN_ERRORS as error:
            raise failure_of(error, self.address.url, doing).error from error

    def insist(self, doing: str, request: Callable[[QdrantClient], Answer]) -> Answer:
        """Send a request, with retries and exponential backoff while the failure may be transient.

        Raises:
            VectorStoreError: the server cannot be reached, refuses, or its response is invalid.
        """
        wait = _FIRST_WAIT_SECONDS
        for _ in range(_ATTEMPTS - 1):
            try:
                return request(self._opened())
            except FOREIGN_ERRORS as error:
                failure = failure_of(error, self.address.url, doing)
                if not failure.may_pass:
                    raise failure.error from error
            self._sleep(min(max(wait, failure.retry_after_seconds), _LONGEST_WAIT_SECONDS))
            wait *= 2
        return self.ask(doing, request)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client:
            client.close()

    def _opened(self) -> QdrantClient:
        with self._lock:
            if self._client is None:
                self._client = _client(self.address)
            return self._client


def _client(address: Address) -> QdrantClient:
    is_safe = urlsplit(address.url).scheme == "https"
    roots = _read_certificates(address.ca_file) if is_safe and address.ca_file else None
    return QdrantClient(
        url=address.url,
        prefer_grpc=address.grpc_port is not None,
        grpc_port=address.grpc_port or 0,
        grpc_options={"root_certificates": roots.encode()} if roots else None,
        # Not as `api_key`, for which the client prints warnings of its own.
        headers={"api-key": address.api_key} if address.api_key else None,
        timeout=address.timeout_seconds,
        # It asks in the background, and prints what it finds; the doctor shows the version.
        check_compatibility=False,
        verify=ssl.create_default_context(cadata=roots) if roots else True,
        event_hooks={"request": [_connect_quickly]},
    )


def _read_certificates(path: Path) -> str:
    hint = "storage.qdrant.ca_file names the certificate of an authority, as PEM"
    try:
        text = path.read_text(encoding="utf-8")
        ssl.create_default_context(cadata=text)
    except OSError as error:
        if isinstance(error, ssl.SSLError):
            raise VectorStoreError(f"'{path}' is not a certificate: {error}", hint=hint) from error
        raise VectorStoreError(f"'{path}' cannot be read: {error.strerror}", hint=hint) from error
    except ValueError as error:
        raise VectorStoreError(f"'{path}' is not a certificate: {error}", hint=hint) from error
    return text


def _connect_quickly(request: httpx.Request) -> None:
    request.extensions["timeout"]["connect"] = _CONNECT_SECONDS
