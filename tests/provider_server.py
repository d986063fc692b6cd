"""A server of embeddings that keeps to the published protocols of Ollama, OpenAI and Azure, until it is told not to.

Run as a process of its own; its first line of output is its port. What it takes and gives is checked against the
models of the client packages. `POST /control` sets what it is and how it fails, `GET /control` tells what it was asked.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
from fakes import word_vector
from ollama import EmbedResponse, ShowResponse
from ollama._types import EmbedRequest
from openai.types import CreateEmbeddingResponse, EmbeddingCreateParams, Model
from pydantic import TypeAdapter, ValidationError

_PARAMS = TypeAdapter(EmbeddingCreateParams)


@dataclass
class Fault:
    """How a request fails, how often, and, with `when`, only if one of its texts holds that."""

    kind: str
    times: int = 1_000_000
    when: str = ""
    status: int = 500
    message: str = "something went wrong"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class State:
    model: str = "bag-of-words"
    dimensions: int = 64
    context_words: int = 100_000
    most_texts: int = 2048
    api_key: str = ""
    latency_seconds: float = 0.0
    is_canned: bool = False
    """Whether requests of as many texts get the same answer, made once: for measuring those who ask."""
    faults: list[Fault] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[tuple[str, int], bytes] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def fault_for(self, texts: list[str]) -> Fault:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and any(fault.when in text for text in texts):
                    fault.times -= 1
                    return fault
        return Fault("none")


STATE = State()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fault = Fault("none")

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/control":
            with STATE.lock:
                self._send(200, STATE.requests)
        elif path == "/v1/models":
            model = Model(id=STATE.model, created=0, object="model", owned_by="tests")
            self._send(200, {"object": "list", "data": [model.model_dump() | {"max_model_len": STATE.context_words}]})
        else:
            self._send(404, {"error": "no such page"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        url = urlsplit(self.path)
        if url.path == "/control":
            _control(body)
            self._send(200, {})
            return
        canned = STATE.answers.get((url.path, len(body.get("input", ()))))
        if STATE.is_canned and canned:
            time.sleep(STATE.latency_seconds)
            self._send_bytes(200, canned, {"content-type": "application/json"})
            return
        deployment = re.fullmatch(r"/openai/deployments/([^/]+)/embeddings", url.path)
        if url.path == "/api/show":
            self._ollama_show(body)
        elif url.path == "/api/embed":
            self._ollama_embed(EmbedRequest.model_validate(body))
        elif url.path == "/v1/embeddings":
            self._openai(body, given_key=self.headers.get("authorization", "").removeprefix("Bearer "))
        elif deployment and "api-version" in parse_qs(url.query):
            self._openai(body | {"model": unquote(deployment[1])}, given_key=self.headers.get("api-key", ""))
        else:
            self._send(404, {"error": "404 page not found"})

    def _ollama_show(self, body: dict[str, Any]) -> None:
        if body["model"] != STATE.model:
            self._send(404, {"error": f"model '{body['model']}' not found"})
            return
        facts = {"general.architecture": "bag", "bag.context_length": STATE.context_words}
        self._send(200, ShowResponse(model_info=facts, capabilities=["embedding"]).model_dump(by_alias=True))

    def _ollama_embed(self, request: EmbedRequest) -> None:
        texts = [request.input] if isinstance(request.input, str) else list(request.input)
        if self._fails(texts, request.model_dump()):
            return
        if request.model != STATE.model:
            self._send(404, {"error": f'model "{request.model}" not found, try pulling it first'})
        elif max(map(_n_words, texts)) > STATE.context_words and request.truncate is False:
            self._send(400, {"error": "the input length exceeds the context length"})
        else:
            rows = self._rows(texts, request.dimensions)
            answer = EmbedResponse(model=STATE.model, embeddings=rows, prompt_eval_count=sum(map(_n_words, texts)))
            self._send(200, answer.model_dump(exclude_none=True), n_texts=len(texts))

    def _openai(self, body: dict[str, Any], *, given_key: str) -> None:
        try:
            request = _PARAMS.validate_python(body)
        except ValidationError as error:
            self._send(422, {"error": {"message": str(error)}})
            return
        texts = [body["input"]] if isinstance(body["input"], str) else list(map(str, body["input"]))
        if STATE.api_key and given_key != STATE.api_key:
            self._send(
                401, {"error": {"message": f"Incorrect API key provided: {given_key}", "code": "invalid_api_key"}}
            )
        elif self._fails(texts, body | {"key": given_key}):
            return
        elif request["model"] != STATE.model:
            self._send(404, {"error": {"message": f"The model `{request['model']}` does not exist."}})
        elif problem := _problem(texts):
            self._send(400, {"error": {"message": problem, "type": "invalid_request_error"}})
        else:
            self._send(200, self._openai_answer(texts, request), n_texts=len(texts))

    def _openai_answer(self, texts: list[str], request: Any) -> dict[str, Any]:
        rows = self._rows(texts, request.get("dimensions"))
        # The order of the rows is free: their index tells.
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)][::-1]
        n_tokens = sum(map(_n_words, texts))
        usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}
        answer = {"object": "list", "model": STATE.model, "data": data, "usage": usage}
        CreateEmbeddingResponse.model_validate(answer)
        if request.get("encoding_format") == "base64":
            for one in data:
                one["embedding"] = base64.b64encode(np.array(one["embedding"], np.float32).tobytes()).decode()
        return answer

    def _rows(self, texts: list[str], dimensions: int | None) -> list[list[float]]:
        time.sleep(STATE.latency_seconds)
        rows = [word_vector(text, dimensions or STATE.dimensions).tolist() for text in texts]
        fault = self.fault
        match fault.kind:
            case "nan":
                rows = [
                    [float("nan"), *row[1:]] if fault.when in text else row
                    for text, row in zip(texts, rows, strict=True)
                ]
            case "zeros":
                rows = [[0.0] * len(row) for row in rows]
            case "dimension":
                rows = [row[:-1] for row in rows]
            case "count":
                rows = rows[:-1]
        return rows

    def _fails(self, texts: list[str], request: dict[str, Any]) -> bool:
        """Note a request, and fail it if that is its turn; answers that are wrong are made where right ones are."""
        with STATE.lock:
            STATE.requests.append({"path": self.path, "texts": texts, "request": request})
        self.fault = fault = STATE.fault_for(texts)
        match fault.kind:
            case "status":
                is_ollama = self.path.startswith("/api/")
                error = fault.message if is_ollama else {"message": fault.message, "code": fault.code}
                self._send(fault.status, {"error": error}, fault.headers)
            case "reset":
                # Closing with nothing lingering sends a reset instead of an end.
                self.connection.setsockopt(1, 13, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
            case "half" | "flood":
                self._break_off(is_endless=fault.kind == "flood")
            case "garbage":
                self._send_bytes(200, b"<html>It works!</html>", {"content-type": "text/html"})
            case "foreign":
                self._send(200, {"hello": "world"})
            case "slow":
                STATE.may_go_on.wait(60)
                self.close_connection = True
            case _:
                return False
        return True

    def _break_off(self, *, is_endless: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(10**12) if is_endless else "10000")
        self.end_headers()
        self.wfile.write(b'{"object": "list", "embeddings": [[0.1, ')
        with contextlib.suppress(OSError):
            while is_endless:
                self.wfile.write(b" " * 1_000_000)
        self.close_connection = True

    def _send(
        self, status: int, body: object, headers: dict[str, str] | None = None, *, n_texts: int | None = None
    ) -> None:
        content = json.dumps(body).encode()
        if n_texts is not None:
            STATE.answers[urlsplit(self.path).path, n_texts] = content
        self._send_bytes(status, content, {"content-type": "application/json", **(headers or {})})

    def _send_bytes(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _problem(texts: list[str]) -> str:
    if not all(texts):
        return "input cannot be an empty string"
    if len(texts) > STATE.most_texts:
        return f"batch size {len(texts)} > maximum allowed batch size {STATE.most_texts}"
    longest = max(map(_n_words, texts))
    if longest > STATE.context_words:
        return f"This model's maximum context length is {STATE.context_words} tokens, however you requested {longest}"
    return ""


def _control(settings: dict[str, Any]) -> None:
    fresh = State()
    with STATE.lock:
        STATE.may_go_on.set()
        for name, value in {**vars(fresh), **settings}.items():
            if name != "lock":
                setattr(STATE, name, value)
        STATE.faults = [Fault(**fault) for fault in settings.get("faults", ())]


def _n_words(text: str) -> int:
    return len(text.split())


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # it ends with whoever started it
