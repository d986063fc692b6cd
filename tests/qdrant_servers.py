"""Starts the stand-in for a Qdrant server, tells it what to do wrong, and looks at what it was asked."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from commands import Process, start_function

if TYPE_CHECKING:
    from qdrant_standin import Fault

_TRUSTING = ssl._create_unverified_context()  # noqa: S323, SLF001 - it signs itself


class Server:
    """One process of the stand-in; with a storage it keeps its points when it is started again."""

    def __init__(self, *options: str | Path) -> None:
        self._options = [str(option) for option in options]
        self.port = 0
        self._process: Process | None = None
        self.start()

    def start(self) -> None:
        """Start anew on the same port, after it was stopped or died."""
        self.stop()
        self._process = start_function(
            "qdrant_standin:main", "--port", str(self.port), *self._options, stdout=subprocess.PIPE
        )
        assert self._process.stdout
        self.port, self.grpc_port = map(int, self._process.stdout.readline().split())

    @property
    def url(self) -> str:
        return f"{'https' if '--certificate' in self._options else 'http'}://127.0.0.1:{self.port}"

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout
            self._process.stdout.close()
            self._process = None

    def fail(self, *faults: Fault) -> None:
        """Misbehave from now on as the faults say; without any, behave."""
        self.control("/_faults", {"faults": [asdict(fault) for fault in faults]})

    @property
    def log(self) -> list[str]:
        lines: list[str] = self.control("/_log", {})
        return lines

    def control(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), method="POST")  # noqa: S310
        with urllib.request.urlopen(request, context=_TRUSTING) as answer:  # noqa: S310
            return json.load(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
