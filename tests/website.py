"""A site on this machine, for those who fetch documents from the web."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Page = tuple[bytes, dict[str, str]]


class Website:
    """A server of bodies with headers, by path; `/to/PATH` redirects, and what begins with `/slow` waits."""

    def __init__(self, pages: dict[str, Page]) -> None:
        self.pages = pages
        self.n_hanging = threading.Semaphore(0)
        self.go_on = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.answer(self)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return self._server.server_port

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path
        if path.startswith("/slow"):
            self.n_hanging.release()
            assert self.go_on.wait(60)
            path = "/slow"
        body, headers = self.pages.get(path, (b"", {}))
        status = 200 if path in self.pages else 404
        if path.startswith("/to/"):
            status, headers = 302, {"Location": path.removeprefix("/to")}
        elif "ETag" in headers and request.headers["If-None-Match"] == headers["ETag"]:
            status, body = 304, b""
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def stop(self) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
