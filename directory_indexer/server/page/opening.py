"""Login link of the page, which only the local user can open.

The URL contains a code that opens one session. On most systems all users can read the arguments of processes, so the
browser gets the path of a private file that redirects to the URL.
"""

from __future__ import annotations

import os
import secrets
import webbrowser
from html import escape
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlencode

from directory_indexer.permissions import directory_mode
from directory_indexer.server.page.application import ROOT

_PAGE = """<!doctype html><html lang=en><meta charset=utf-8><title>dirindex</title>
<meta name=referrer content=no-referrer><meta http-equiv=refresh content="0;url={address}">
<p><a href="{address}">dirindex</a>
"""


def address_of(host_in_url: str, port: int, *, code: str, query: str = "") -> str:
    """Return the URL of the page; the code is in the fragment, which browsers do not send."""
    parameters = f"?{urlencode({'q': query}, errors='replace')}" if query else ""
    return f"http://{host_in_url}:{port}{ROOT}{parameters}#code={quote(code)}"


class Doorway:
    """A private file that redirects a browser to the page, until the server ends."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / f"ui-{secrets.token_hex(8)}.html"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)

    def lead_to(self, address: str) -> bool:
        """Open the page in the browser of the user; return whether there is one."""
        self._path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)  # there may be no index yet
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(_PAGE.format(address=escape(address)))
        return webbrowser.open(self._path.as_uri())
