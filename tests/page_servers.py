"""A `dirindex ui` process, the code that it gives out, and requests as a browser that was admitted sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from web_servers import WebAnswer, WebServer

if TYPE_CHECKING:
    from pathlib import Path


class Admitted(NamedTuple):
    """What a browser shows after it was admitted."""

    cookie: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie, "X-Dirindex-Page": self.token, "Sec-Fetch-Site": "same-origin"}


class PageServer(WebServer):
    """A server that is there for its page."""

    command: ClassVar[tuple[str, ...]] = ("ui", "--no-browser", "--port", "0")

    def __init__(self, data_dir: Path, *options: str, **environ: str) -> None:
        super().__init__(data_dir, *options, **environ)
        self.address = self.url
        page, _, self.code = self.url.partition("#code=")
        self.url = page.partition("/ui/")[0] + "/mcp"

    def exchange(self, code: object, **headers: str) -> WebAnswer:
        """Give a code for what a browser shows."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", "/ui/session", {"code": code}, headers=given)

    def admit(self) -> Admitted:
        """Use up the code."""
        answer = self.exchange(self.code)
        assert answer.status == 200, answer.text
        cookie = answer.headers["Set-Cookie"]
        return Admitted(cookie.partition(";")[0], answer.json["token"])

    def search_as(self, admitted: Admitted, query: str, **headers: str) -> WebAnswer:
        """Search as the page does."""
        given: dict[str, Any] = {**admitted.headers, **{name.replace("_", "-"): one for name, one in headers.items()}}
        body = {"query": query, "mode": "keyword"}
        return self.ask("POST", "/api/v1/search", body, headers={name: one for name, one in given.items() if one})
