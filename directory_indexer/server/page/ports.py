"""Where the page is served: at the same port from day to day, so that links to it can be kept."""

from __future__ import annotations

import socket
from typing import Final

PORT: Final = 8766


def usual_port() -> int:
    """Give the usual port, or 0, for which the system chooses one, where that is taken."""
    try:
        with socket.create_server(("127.0.0.1", PORT)):
            return PORT
    except OSError:
        return 0
