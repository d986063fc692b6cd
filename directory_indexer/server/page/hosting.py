"""Lifetime of a server for the page: it opens the page in the browser, and ends when the page is idle."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from directory_indexer.server.gate.browsers import Browsers
from directory_indexer.server.page.opening import Doorway, address_of

IDLE_SECONDS = 30 * 60
_LOOK_SECONDS = 15
_OPEN = "open in your browser, within two minutes:"
_IF_NONE_OPENS = "if no page opens in your browser, open:"
_UNTIL_WHEN = """the page is for you alone; it ends with this command (Ctrl+C),
  or when it was not used for half an hour"""
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Options of the page: the initial query, and whether to open a browser."""

    query: str = ""
    opens_browser: bool = True


class PageHost:
    """Opens the page, and waits until it has been idle for half an hour."""

    def __init__(self, browsers: Browsers, options: PageOptions, data_dir: Path) -> None:
        self.browsers = browsers
        self._options = options
        self._data_dir = data_dir

    async def attend(self, host_in_url: str, port: int) -> None:
        """Open the page in a browser, print its URL, and return when it has been idle for `IDLE_SECONDS`."""
        address = address_of(host_in_url, port, code=self.browsers.new_code(), query=self._options.query)
        with Doorway(self._data_dir) as doorway:
            opens_browser = self._options.opens_browser and has_screen(sys.platform, os.environ)
            opened = opens_browser and await anyio.to_thread.run_sync(doorway.lead_to, address)
            sys.stderr.write(f"{_IF_NONE_OPENS if opened else _OPEN}\n  {address}\n{_UNTIL_WHEN}\n")
            sys.stderr.flush()
            while self.browsers.idle_seconds < IDLE_SECONDS:  # noqa: ASYNC110 - idle time is no event
                await anyio.sleep(_LOOK_SECONDS)


def has_screen(platform: str, environ: Mapping[str, str]) -> bool:
    """Whether a graphical browser can be opened: one in the terminal would take that from the server."""
    return platform in {"darwin", "win32"} or any(environ.get(name) for name in _SCREENS)
