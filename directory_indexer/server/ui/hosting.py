"""Hosting of the web page: opens it in a browser by a login link, and ends the server when the page is idle.

Only the local user can open the link, whose code opens one session. On most systems all users can read the arguments of
processes, so the browser gets the path of a private file that redirects to the URL. The default port is always the
same, so that links to the page stay valid.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, urlencode

import anyio
import anyio.to_thread

from directory_indexer.core.kept_files import directory_mode
from directory_indexer.server.middleware.authentication import BrowserSessions
from directory_indexer.server.ui.application import ROOT

IDLE_SECONDS = 30 * 60
_IDLE_POLL_SECONDS = 15
_OPEN_MESSAGE = "open in your browser, within two minutes:"
_OPEN_YOURSELF_MESSAGE = "if no page opens in your browser, open:"
_LIFETIME_MESSAGE = """the page is for you alone; it ends with this command (Ctrl+C),
  or when it was not used for half an hour"""
_SCREEN_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Options of the page: the initial query, and whether to open a browser."""

    query: str = ""
    opens_browser: bool = True


class PageHost:
    """Opens the page, and waits until it has been idle for half an hour."""

    def __init__(self, browsers: BrowserSessions, options: PageOptions, data_dir: Path) -> None:
        self.browsers = browsers
        self._options = options
        self._data_dir = data_dir

    async def open_and_wait_until_idle(self, host_in_url: str, port: int) -> None:
        """Open the page in a browser, print its URL, and return when it has been idle for `IDLE_SECONDS`."""
        address = page_url(host_in_url, port, code=self.browsers.new_code(), query=self._options.query)
        with LoginLink(self._data_dir) as doorway:
            opens_browser = self._options.opens_browser and can_open_browser(sys.platform, os.environ)
            opened = opens_browser and await anyio.to_thread.run_sync(doorway.open_in_browser, address)
            sys.stderr.write(
                f"{_OPEN_YOURSELF_MESSAGE if opened else _OPEN_MESSAGE}\n  {address}\n{_LIFETIME_MESSAGE}\n"
            )
            sys.stderr.flush()
            while self.browsers.idle_seconds < IDLE_SECONDS:  # noqa: ASYNC110 - idle time is no event
                await anyio.sleep(_IDLE_POLL_SECONDS)


def can_open_browser(platform: str, environ: Mapping[str, str]) -> bool:
    """Whether a graphical browser can be opened: one in the terminal would take that from the server."""
    return platform in {"darwin", "win32"} or any(environ.get(name) for name in _SCREEN_VARIABLES)


_REDIRECT_PAGE = """<!doctype html><html lang=en><meta charset=utf-8><title>dirindex</title>
<meta name=referrer content=no-referrer><meta http-equiv=refresh content="0;url={address}">
<p><a href="{address}">dirindex</a>
"""


def page_url(host_in_url: str, port: int, *, code: str, query: str = "") -> str:
    """Return the URL of the page; the code is in the fragment, which browsers do not send."""
    parameters = f"?{urlencode({'q': query}, errors='replace')}" if query else ""
    return f"http://{host_in_url}:{port}{ROOT}{parameters}#code={quote(code)}"


class LoginLink:
    """A private file that redirects a browser to the page, until the server ends."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / f"ui-{secrets.token_hex(8)}.html"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)

    def open_in_browser(self, address: str) -> bool:
        """Open the page in the browser of the user; return whether there is one."""
        self._path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)  # there may be no index yet
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(_REDIRECT_PAGE.format(address=escape(address)))
        return webbrowser.open(self._path.as_uri())


PORT: Final = 8766


def default_port() -> int:
    """Return the default port, or 0, for which the system chooses one, if the default is in use."""
    try:
        with socket.create_server(("127.0.0.1", PORT)):
            return PORT
    except OSError:
        return 0
