"""Static files of the page, and the security headers that they are served with.

There is no build step: the files in the package are the sources.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

INDEX: Final = "index.html"
_STATIC: Final = "static"
_MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY: Final[Mapping[str, str]] = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' blob:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    # No script may turn text into markup, not even by mistake.
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


class Asset(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str


@functools.cache
def assets() -> Mapping[str, Asset]:
    """Read all static files, by name: only these can be requested."""
    return dict(_assets(files(__package__) / _STATIC, ""))


def _assets(directory: Traversable, prefix: str) -> Iterator[tuple[str, Asset]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _assets(entry, f"{prefix}{entry.name}/")
            continue
        media_type = next((kind for ending, kind in _MEDIA_TYPES.items() if entry.name.endswith(ending)), None)
        if media_type is not None:
            content = entry.read_bytes()
            yield f"{prefix}{entry.name}", Asset(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
