"""Default port of the page, always the same so that links to the page stay valid."""

from __future__ import annotations

import socket
from typing import Final

PORT: Final = 8766


def usual_port() -> int:
    """Return the default port, or 0, for which the system chooses one, if the default is in use."""
    try:
        with socket.create_server(("127.0.0.1", PORT)):
            return PORT
    except OSError:
        return 0
