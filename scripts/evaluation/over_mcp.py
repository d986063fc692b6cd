"""Asks as an assistant does: the installed server, over standard input and output, with the budget of an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Self

from directory_indexer.search.requests import SearchMode
from evaluation.measures import of_files

if TYPE_CHECKING:
    from pathlib import Path

    from evaluation.sets import Question

_BYTES_PER_TOKEN = 3
_HITS = 10
_MOST_HITS = 30


class Server:
    """`dirindex serve` over the index of one corpus, asked for ten hits with the default budget."""

    def __init__(self, corpus: Path, data_dir: Path) -> None:
        command = (sys.executable, "-m", "directory_indexer", "serve", "--data-dir", str(data_dir), "--quiet")
        self._process = subprocess.Popen(  # noqa: S603 - words of ours
            (*command, "--config", str(data_dir / "config.json")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._corpus = os.path.realpath(corpus)
        self._last_id = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "eval", "version": "1"}}
        self._request("initialize", client)
        self._send({"method": "notifications/initialized"})
        # A search by meaning alone waits until the model is there; others would answer by words meanwhile.
        self._search("warm up", SearchMode.SEMANTIC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def measure(self, question: Question, mode: SearchMode) -> dict[str, float]:
        """Ask a question, and measure what an assistant gets to see of ten hits."""
        answer = self._search(question.text, mode)
        files = [os.path.relpath(hit["path"], self._corpus).replace(os.sep, "/") for hit in answer["hits"]]
        measured = of_files(list(dict.fromkeys(files)), question.grades)
        size = len(json.dumps(answer, ensure_ascii=False).encode())
        return {
            "MCP nDCG@10": measured["nDCG@10"],
            "MCP hits": float(len(files)),
            "MCP tokens": size / _BYTES_PER_TOKEN,
        }

    def text(self, query: str, *, max_tokens: int) -> str:
        """Return the text of an answer, as an assistant reads it."""
        arguments = {"query": query, "limit": _MOST_HITS, "max_tokens": max_tokens, "again": True}
        result = self._request("tools/call", {"name": "search", "arguments": arguments})
        return str(result["content"][0]["text"])

    def _search(self, text: str, mode: SearchMode) -> dict[str, Any]:
        arguments = {"query": text, "mode": str(mode), "limit": _HITS, "again": True}
        result = self._request("tools/call", {"name": "search", "arguments": arguments})
        if result.get("isError"):
            sys.exit(f"the server could not answer '{text}': {result['content']}")
        content: dict[str, Any] = result["structuredContent"]
        return content

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        for line in self._process.stdout or ():
            message = json.loads(line)
            if message.get("id") == self._last_id:
                if "result" not in message:
                    sys.exit(f"the server refused {method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
        sys.exit("the server ended before it had answered")

    def _send(self, message: dict[str, Any]) -> None:
        if self._process.stdin:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self._process.stdin.flush()
