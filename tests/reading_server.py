"""A server that reads pages as Gemini and Document Intelligence do, by their published protocols, until told not to.

It checks every request as these services do, and notes it. Time is that of a clock which only waiting moves on.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from directory_indexer.formats.pdf.raster import EncodedPage, Raster
from directory_indexer.formats.pdf.rendering import encode_page
from directory_indexer.http_client import RetryTiming
from directory_indexer.ocr.remote import build_remote_engine
from directory_indexer.ocr.service import Access

KEY = "AIza-secret-of-tests"
MODELS = {"gemini": "gemini-2.5-flash", "azure": "prebuilt-layout"}
_GENERATE = re.compile(r"/v1beta/models/([^/:]+):generateContent")
_ANALYZE = re.compile(r"/documentintelligence/documentModels/([^/:]+):analyze")
_RESULT = re.compile(r"/documentintelligence/documentModels/[^/]+/analyzeResults/\w+")


class Clock:
    """Time that passes while somebody waits, and at no other time; `meanwhile` something may happen."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.meanwhile: Callable[[], object] = lambda: None
        self._lock = threading.Lock()

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        self.meanwhile()

    def advance(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds

    @property
    def passed(self) -> float:
        return round(self.now - 1_000.0, 3)


@dataclass
class Fault:
    """How a request fails: by a status, by the body of an answer, or in a way of its own; `on` says which requests."""

    kind: str = "answer"
    on: str = "POST"
    times: int = 1_000_000
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    size: int = 0
    """Only for pictures larger than that."""


class ReadingServer:
    """Serves both services on one port; `faults` come first, the first that fits a request."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.text = "The zeppelin is late."
        self.result: dict[str, Any] = {"pages": [page_of("The zeppelin is late.")]}
        self.must_stop = False
        self.lock = threading.Lock()
        self.is_over = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._engines: list[Any] = []
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        for engine in self._engines:
            engine.close()
        self._server.shutdown()
        self._server.server_close()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def engine(self, name: str, *, endpoint: str | None = None, key: str = KEY, model: str | None = None) -> Any:
        """Build the engine that a configuration for this server gives; waiting moves the clock on, and nothing else."""
        clock = self.clock
        waiting = RetryTiming(
            clock.time,
            clock.sleep,
            today=clock.time,
            chance=lambda: 0.0,
            must_stop=lambda: self.must_stop,
        )
        access = Access(endpoint or self.root, model or MODELS[name], key, concurrency=4, seconds=60.0)
        self._engines.append(build_remote_engine(name, access, waiting))
        return self._engines[-1]

    def fail(self, kind: str = "answer", **fault: Any) -> None:
        self.faults.append(Fault(kind, **fault))

    def fault_for(self, method: str, size: int) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.on == method and size >= fault.size:
                    fault.times -= 1
                    return fault
        return None


def a_page(width: int = 300, height: int = 400) -> EncodedPage:
    """Draw a page whose file is larger than that of an empty one."""
    return encode_page(Raster(width, height, bytes((at * at >> 3) & 255 for at in range(width * height)), 1, 200))


def page_of(text: str) -> dict[str, Any]:
    """Describe a page of one line as Document Intelligence does."""
    words, offset = [], 0
    for index, word in enumerate(text.split()):
        left, top = 100 * index + 10, 20
        polygon = [left, top, left + 80, top, left + 80, top + 20, left, top + 20]
        span = {"offset": offset, "length": len(word)}
        words.append({"content": word, "polygon": polygon, "confidence": 0.98, "span": span})
        offset += len(word) + 1
    line = {
        "content": text,
        "polygon": [10, 20, 400, 20, 400, 40, 10, 40],
        "spans": [{"offset": 0, "length": len(text)}],
    }
    return {
        "pageNumber": 1,
        "angle": 0.1,
        "width": 1000,
        "height": 2000,
        "unit": "pixel",
        "words": words,
        "lines": [line],
    }


def gemini_answer(text: str, finish: str = "STOP", **candidate: Any) -> dict[str, Any]:
    """Answer as `generateContent` does."""
    content = {"role": "model", "parts": [{"text": "Let me see.", "thought": True}, {"text": text}]}
    usage = {"promptTokenCount": 1290, "candidatesTokenCount": 9, "thoughtsTokenCount": 3, "totalTokenCount": 1302}
    candidates = [{"content": content, "finishReason": finish, "index": 0, **candidate}]
    return {"candidates": candidates, "usageMetadata": usage, "modelVersion": "gemini-2.5-flash", "responseId": "x"}


def google_error(status: int, name: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    """Refuse as the services of Google do."""
    return {"error": {"code": status, "message": message, "status": name, "details": list(details)}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ReadingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        url = urlsplit(self.path)
        self._note(url.path, body)
        if self._fails("POST", _size_of(body)):
            return
        if _GENERATE.fullmatch(url.path):
            self._generate(body)
        elif _ANALYZE.fullmatch(url.path) and parse_qs(url.query).get("api-version") == ["2024-11-30"]:
            self._analyze(body)
        else:
            self._send(404, google_error(404, "NOT_FOUND", "no such model"))

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self._note(url.path, None)
        if self._fails("GET", 0):
            return
        if self.headers.get("ocp-apim-subscription-key") != KEY or not _RESULT.fullmatch(url.path):
            self._send(401, {"error": {"code": "401", "message": "Access denied"}})
            return
        times = {"createdDateTime": "2026-01-01T00:00:00Z", "lastUpdatedDateTime": "2026-01-01T00:00:01Z"}
        self._send(200, {"status": "succeeded", **times, "analyzeResult": self.owner.result})

    def _generate(self, body: dict[str, Any]) -> None:
        if self.headers.get("x-goog-api-key") != KEY:
            reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            message = f"API key not valid: {self.headers.get('x-goog-api-key')}"
            self._send(400, google_error(400, "INVALID_ARGUMENT", message, reason))
            return
        parts = body["contents"][0]["parts"]
        picture = parts[0]["inlineData"]
        known = {"temperature", "maxOutputTokens", "candidateCount"}
        if not _is_picture(picture["mimeType"], picture["data"]) or not body["generationConfig"].keys() <= known:
            self._send(400, google_error(400, "INVALID_ARGUMENT", "Unable to process input image."))
        else:
            self._send(200, gemini_answer(self.owner.text))

    def _analyze(self, body: dict[str, Any]) -> None:
        if self.headers.get("ocp-apim-subscription-key") != KEY:
            self._send(401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}})
        elif not _is_picture("image/png", body.get("base64Source", "")):
            inner = {"code": "InvalidContent", "message": "The file is corrupted."}
            self._send(400, {"error": {"code": "InvalidRequest", "message": "Invalid request.", "innererror": inner}})
        else:
            path = "/documentintelligence/documentModels/prebuilt-layout/analyzeResults/1?api-version=2024-11-30"
            self._send(202, b"", {"operation-location": self.owner.root + path, "retry-after": "3"})

    def _note(self, path: str, body: dict[str, Any] | None) -> None:
        with self.owner.lock:
            self.owner.asked.append(f"{self.command} {path.rpartition('/')[2]}")
            given = (self.headers.get(name) for name in ("x-goog-api-key", "ocp-apim-subscription-key"))
            self.owner.keys.update(filter(None, given))
            if body is not None:
                self.owner.bodies.append(body)

    def _fails(self, method: str, size: int) -> bool:
        fault = self.owner.fault_for(method, size)
        if fault is None:
            return False
        self.close_connection = True
        getattr(self, f"_fail_{fault.kind}")(fault)
        return True

    def _fail_answer(self, fault: Fault) -> None:
        self._send(fault.status, fault.body if fault.body is not None else b"", fault.headers)

    def _fail_reset(self, _: Fault) -> None:
        # Closing with nothing lingering sends a reset instead of an end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _fail_cut(self, _: Fault) -> None:
        self._begin(200, {"content-length": "10000"})
        self.wfile.write(b'{"candidates": [{"content": {"par')

    def _fail_late_headers(self, _: Fault) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nx-half: ")
        self._run_late()

    def _fail_late_body(self, _: Fault) -> None:
        self._begin(200, {"content-length": "10000"})
        self.wfile.write(b'{"candi')
        self._run_late()

    def _fail_gigantic(self, _: Fault) -> None:
        self._begin(200, {"content-length": str(1 << 40)})
        try:
            while not self.owner.is_over.is_set():
                self.wfile.write(b'["' + b"x" * (1 << 20) + b'"],')
        except OSError:
            return

    def _fail_stop(self, _: Fault) -> None:
        self.owner.must_stop = True
        self.owner.is_over.wait(60)

    def _run_late(self) -> None:
        self.wfile.flush()
        self.owner.clock.advance(61)
        self.owner.is_over.wait(60)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()

    def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._begin(
            status, {"content-type": "application/json", **(headers or {}), "content-length": str(len(content))}
        )
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _size_of(body: dict[str, Any]) -> int:
    picture = body.get("base64Source") or body["contents"][0]["parts"][0]["inlineData"]["data"]
    return len(picture)


def _is_picture(media_type: str, written: str) -> bool:
    try:
        content = base64.b64decode(written, validate=True)
    except binascii.Error:
        return False
    return content.startswith(b"\x89PNG\r\n\x1a\n" if media_type == "image/png" else b"\xff\xd8")
