"""The browsers of the person who runs a server: admitted by a code that is good once, known by two secrets after that.

One secret is a cookie that no script can read. Browsers send it to every port of this machine, also to the server of
somebody else, so it counts only beside the other one, which the page keeps for its own origin and sends itself.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from directory_indexer.registry.keys import Key, Right, digest_of

PAGE_HEADER: Final = b"x-dirindex-page"
"""The header in which the page sends its secret."""

CODE_SECONDS: Final = 120
_MOST_PASSES: Final = 50
_NAME: Final = "page"
_SAME_ORIGIN: Final = b"same-origin"


class Pass(NamedTuple):
    """What a browser that was admitted shows with every request."""

    cookie: str
    token: str


class Browsers:
    """The codes that wait to be used, and the browsers that have used one; all of it ends with the process."""

    def __init__(self, *, clock: Callable[[], float], right: Right = Right.OWNER) -> None:
        self._clock = clock
        self._right = right
        self._codes: dict[bytes, float] = {}
        self._passes: dict[tuple[bytes, bytes], Key] = {}
        self.seen_at = clock()
        """When one of them asked for something last."""

    def new_code(self) -> str:
        """Make a code that admits one browser, if it is used soon."""
        code = secrets.token_urlsafe(32)
        self._codes[digest_of(code)] = self._clock() + CODE_SECONDS
        return code

    def admit(self, code: str) -> Pass | None:
        """Use a code up; give nothing for one that is none, was used, or is too old."""
        good_until = self._codes.pop(digest_of(code), None)
        if good_until is None or self._clock() > good_until or len(self._passes) >= _MOST_PASSES:
            return None
        made = Pass(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        shown = digest_of(made.cookie), digest_of(made.token)
        self._passes[shown] = Key(_NAME, shown[0], self._right)
        self.seen_at = self._clock()
        return made

    def key_of(self, headers: Iterable[tuple[bytes, bytes]]) -> Key | None:
        """Find the key of the browser that sends a request from the page; None for all others.

        A request may only read unless the browser itself vouches that the page sent it, by `Sec-Fetch-Site` or by an
        `Origin`, which the gate has looked at.
        """
        token, cookies, is_vouched_for = b"", b"", False
        for name, value in headers:
            match name:
                case b"sec-fetch-site" if value != _SAME_ORIGIN:
                    return None
                case b"sec-fetch-site" | b"origin":
                    is_vouched_for = True
                case b"cookie":
                    cookies += b";" + value
                case header if header == PAGE_HEADER:
                    token = value
        shown = digest_of(token.decode("latin-1"))
        for (cookie, of_page), key in self._passes.items():
            if hmac.compare_digest(of_page, shown) and any(
                hmac.compare_digest(cookie, digest_of(one)) for one in _values(cookies)
            ):
                self.seen_at = self._clock()
                return key if is_vouched_for else key._replace(right=Right.READ)
        return None

    @property
    def idle_seconds(self) -> float:
        """Tell for how long none of them has asked for anything."""
        return self._clock() - self.seen_at


def _values(cookies: bytes) -> Iterable[str]:
    """Give the values of all cookies: those of other ports come along, and of the same name, too."""
    return (pair.partition("=")[2].strip() for pair in cookies.decode("latin-1").split(";"))
