"""A server that is there for the page: it opens it in the browser, and ends when nobody has looked for a while."""

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
    """What somebody wants of the page: where to begin, and whether a browser is to be opened."""

    query: str = ""
    opens_browser: bool = True


class PageHost:
    """The page of a server, from when it can be reached until nobody has looked at it for half an hour."""

    def __init__(self, browsers: Browsers, options: PageOptions, data_dir: Path) -> None:
        self.browsers = browsers
        self._options = options
        self._data_dir = data_dir

    async def attend(self, host_in_url: str, port: int) -> None:
        """Lead a browser to the page, say where it is, and return when none has asked for anything for long."""
        address = address_of(host_in_url, port, code=self.browsers.new_code(), query=self._options.query)
        with Doorway(self._data_dir) as doorway:
            wanted = self._options.opens_browser and has_screen(sys.platform, os.environ)
            opened = wanted and await anyio.to_thread.run_sync(doorway.lead_to, address)
            sys.stderr.write(f"{_IF_NONE_OPENS if opened else _OPEN}\n  {address}\n{_UNTIL_WHEN}\n")
            sys.stderr.flush()
            while self.browsers.idle_seconds < IDLE_SECONDS:  # noqa: ASYNC110 - time that passes is no event
                await anyio.sleep(_LOOK_SECONDS)


def has_screen(platform: str, environ: Mapping[str, str]) -> bool:
    """Tell whether a browser with windows can be opened: one in the terminal would take that from the server."""
    return platform in {"darwin", "win32"} or any(environ.get(name) for name in _SCREENS)
