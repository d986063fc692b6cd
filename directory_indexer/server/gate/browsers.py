"""Browser sessions of the local user: opened by a single-use code, then authenticated by two secrets.

One secret is an HttpOnly cookie. Browsers send cookies to all ports of this machine, including servers of other users,
so it is valid only together with the other secret, which the page stores for its own origin and sends in a header.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from directory_indexer.registry.keys import Key, Right, digest_of

PAGE_HEADER: Final = b"x-dirindex-page"
"""The header of the secret that the page sends."""

CODE_SECONDS: Final = 120
_MOST_PASSES: Final = 50
_NAME: Final = "page"
_SAME_ORIGIN: Final = b"same-origin"


class Pass(NamedTuple):
    """The two secrets of a session, which a browser sends with every request."""

    cookie: str
    token: str


class Browsers:
    """The unused codes and the sessions; both are in memory only."""

    def __init__(self, *, clock: Callable[[], float], right: Right = Right.OWNER) -> None:
        self._clock = clock
        self._right = right
        self._codes: dict[bytes, float] = {}
        self._passes: dict[tuple[bytes, bytes], Key] = {}
        self.seen_at = clock()
        """The time of the last request of any session."""

    def new_code(self) -> str:
        """Return a new code, which opens one session within `CODE_SECONDS`."""
        code = secrets.token_urlsafe(32)
        self._codes[digest_of(code)] = self._clock() + CODE_SECONDS
        return code

    def admit(self, code: str) -> Pass | None:
        """Consume a code and open a session; None for a code that is unknown, used or expired."""
        expires_at = self._codes.pop(digest_of(code), None)
        if expires_at is None or self._clock() > expires_at or len(self._passes) >= _MOST_PASSES:
            return None
        session = Pass(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        digests = digest_of(session.cookie), digest_of(session.token)
        self._passes[digests] = Key(_NAME, digests[0], self._right)
        self.seen_at = self._clock()
        return session

    def key_of(self, headers: Iterable[tuple[bytes, bytes]]) -> Key | None:
        """Return the key of the session of a request from the page; None for all other requests.

        A request may only read, unless the browser confirms that the page sent it, by `Sec-Fetch-Site` or an `Origin`
        that the request guard has checked.
        """
        token, cookies, is_same_origin = b"", b"", False
        for name, value in headers:
            match name:
                case b"sec-fetch-site" if value != _SAME_ORIGIN:
                    return None
                case b"sec-fetch-site" | b"origin":
                    is_same_origin = True
                case b"cookie":
                    cookies += b";" + value
                case header if header == PAGE_HEADER:
                    token = value
        page_digest = digest_of(token.decode("latin-1"))
        for (cookie, session_digest), key in self._passes.items():
            if hmac.compare_digest(session_digest, page_digest) and any(
                hmac.compare_digest(cookie, digest_of(value)) for value in _cookie_values(cookies)
            ):
                self.seen_at = self._clock()
                return key if is_same_origin else key._replace(right=Right.READ)
        return None

    @property
    def idle_seconds(self) -> float:
        """The seconds since the last request of any session."""
        return self._clock() - self.seen_at


def _cookie_values(cookies: bytes) -> Iterable[str]:
    """Return the values of all cookies, which may include those of other ports with the same name."""
    return (pair.partition("=")[2].strip() for pair in cookies.decode("latin-1").split(";"))
