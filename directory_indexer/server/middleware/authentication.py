"""Authentication of requests by API keys, the operator's token or browser sessions, with a throttle.

A browser session is opened by a single-use code, then authenticated by two secrets. One is an HttpOnly cookie. Browsers
send cookies to all ports of this machine, including servers of other users, so it is valid only together with the other
secret, which the page stores for its own origin and sends in a header.

Failed authentication is rate-limited by client address, so that guessing keys takes time. Times of the last use of
keys: collected during requests, and written periodically by a thread.

Times of the last use of keys are collected during requests, and written periodically by a thread.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from directory_indexer.core.errors import StoreError
from directory_indexer.core.rights import Right
from directory_indexer.server.middleware.limits import Rate
from directory_indexer.storage.registry.keys import Key, digest_secret, find_valid_key

_AUTHORIZATION_HEADER = b"authorization"
ANONYMOUS = Key("anyone", b"", Right.ADMIN)
"""The key of all callers of a server that requires none."""

TOKEN_NAME = "token"  # noqa: S105 - the name of a key
"""The key name of the token in `--token-file`."""

PAGE_HEADER: Final = b"x-dirindex-page"
"""The header of the secret that the page sends."""

LOGIN_CODE_SECONDS: Final = 120
_MAX_SESSIONS: Final = 50
_SESSION_COOKIE: Final = "page"
_SAME_ORIGIN: Final = b"same-origin"

FAILURE_RATE: Final = Rate(per_second=1.0, burst=30)
_MAX_RECORDED_ADDRESSES: Final = 10_000
_MAX_VALID_KEYS: Final = 256
_IPV6_PREFIX_BITS: Final = 64

_WRITE_INTERVAL_SECONDS: Final = 60.0
_log = logging.getLogger("dirindex.serve")


class Authenticator:
    """Authenticates callers by the current keys of the registry and the token of the operator.

    A server with a page also accepts the sessions in `browsers`.
    """

    def __init__(
        self,
        keys: Callable[[], tuple[Key, ...]],
        *,
        token: str,
        needs_key: bool,
        login_throttle: LoginThrottle,
        on_use: Callable[[bytes], None] = lambda _: None,
        browsers: BrowserSessions | None = None,
    ) -> None:
        self._keys = keys
        self._login_throttle = login_throttle
        self._on_use = on_use
        self._browsers = browsers
        self._token = (Key(TOKEN_NAME, digest_secret(token), Right.ADMIN),) if token else ()
        self._needs_key = needs_key

    def caller(self, headers: Iterable[tuple[bytes, bytes]], *, address: str = "") -> Key | int | None:
        """Return the key of a request from an address.

        None for a missing, wrong, expired, revoked or repeated key; a number of seconds, if too many such requests came
        from the address, until keys from there are checked again.

        Raises:
            StoreError: the keys cannot be read.
        """
        if not self._needs_key:
            return ANONYMOUS
        headers = list(headers)
        if self._browsers is not None and any(name == PAGE_HEADER for name, _ in headers):
            return self._browsers.key_of(headers)
        credentials = [value for name, value in headers if name == _AUTHORIZATION_HEADER]
        scheme, _, secret = credentials[0].partition(b" ") if len(credentials) == 1 else (b"", b"", b"")
        presented = secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
        if seconds := self._login_throttle.seconds_to_wait(address, digest_secret(presented)):
            return seconds
        key = find_valid_key(presented, (*self._token, *self._keys()), now=time.time())
        if key is None:
            self._login_throttle.record_failure(address)
        else:
            self._login_throttle.record_success(address, key.digest)
            if key not in self._token:
                self._on_use(key.digest)
        return key


class SessionSecrets(NamedTuple):
    """The two secrets of a session, which a browser sends with every request."""

    cookie: str
    token: str


class BrowserSessions:
    """The unused codes and the sessions; both are in memory only."""

    def __init__(self, *, clock: Callable[[], float], right: Right = Right.OWNER) -> None:
        self._clock = clock
        self._right = right
        self._codes: dict[bytes, float] = {}
        self._passes: dict[tuple[bytes, bytes], Key] = {}
        self.seen_at = clock()
        """The time of the last request of any session."""

    def new_code(self) -> str:
        """Return a new code, which opens one session within `LOGIN_CODE_SECONDS`."""
        code = secrets.token_urlsafe(32)
        self._codes[digest_secret(code)] = self._clock() + LOGIN_CODE_SECONDS
        return code

    def admit(self, code: str) -> SessionSecrets | None:
        """Consume a code and open a session; None for a code that is unknown, used or expired."""
        expires_at = self._codes.pop(digest_secret(code), None)
        if expires_at is None or self._clock() > expires_at or len(self._passes) >= _MAX_SESSIONS:
            return None
        session = SessionSecrets(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        digests = digest_secret(session.cookie), digest_secret(session.token)
        self._passes[digests] = Key(_SESSION_COOKIE, digests[0], self._right)
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
        page_digest = digest_secret(token.decode("latin-1"))
        for (cookie, session_digest), key in self._passes.items():
            if hmac.compare_digest(session_digest, page_digest) and any(
                hmac.compare_digest(cookie, digest_secret(value)) for value in _cookie_values(cookies)
            ):
                self.seen_at = self._clock()
                return key if is_same_origin else key._replace(right=Right.READ)
        return None

    @property
    def idle_seconds(self) -> float:
        """The seconds since the last request of any session."""
        return self._clock() - self.seen_at


class LoginThrottle:
    """The addresses with failed attempts; the least recent are dropped beyond a limit."""

    def __init__(self, rate: Rate = FAILURE_RATE, *, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def seconds_to_wait(self, address: str, digest: bytes) -> int:
        """Return the seconds until a key from an address is checked; 0 for at once."""
        record = self._refilled_record(address)
        if digest in record.valid or record.n_tokens >= 1:
            return 0
        return math.ceil((1 - record.n_tokens) / self._rate.per_second)

    def record_failure(self, address: str) -> None:
        """Record a failed attempt."""
        record = self._refilled_record(address)
        self._store_record(address, record._replace(n_tokens=max(record.n_tokens - 1, 0.0)))

    def record_success(self, address: str, digest: bytes) -> None:
        """Record a valid key."""
        record = self._refilled_record(address)
        if digest not in record.valid:
            self._store_record(address, record._replace(valid=(*record.valid, digest)[-_MAX_VALID_KEYS:]))

    def count(self) -> int:
        """Return the number of recorded addresses."""
        return len(self._records)

    def _refilled_record(self, address: str) -> _Record:
        now = self._clock()
        record = self._records.get(_network_of(address), _Record(float(self._rate.burst), now))
        n_tokens = min(self._rate.burst, record.n_tokens + (now - record.updated_at) * self._rate.per_second)
        return record._replace(n_tokens=n_tokens, updated_at=now)

    def _store_record(self, address: str, record: _Record) -> None:
        network = _network_of(address)
        self._records[network] = record
        self._records.move_to_end(network)
        if len(self._records) > _MAX_RECORDED_ADDRESSES:
            self._records.popitem(last=False)


class KeyUses:
    """The unwritten times of use; the thread runs only while there are any, and for a minute afterwards."""

    def __init__(
        self, write: Callable[[Mapping[bytes, float]], None], *, pause_seconds: float = _WRITE_INTERVAL_SECONDS
    ) -> None:
        self._write = write
        self._pause_seconds = pause_seconds
        self._lock = threading.Lock()
        self._used_at: dict[bytes, float] = {}
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None

    def record_use(self, digest: bytes) -> None:
        """Record that a key is used now, without I/O."""
        with self._lock:
            self._used_at[digest] = time.time()
            if self._thread is None and not self._is_closed.is_set():
                self._thread = threading.Thread(target=self._write_until_idle, name="key uses", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Write the remaining times."""
        self._is_closed.set()
        if thread := self._thread:
            thread.join()

    def _write_until_idle(self) -> None:
        while used_at := self._take_unwritten():
            try:
                self._write(used_at)
            except StoreError as error:  # these times are lost; no request depends on them
                _log.warning("when keys were used cannot be written: %s", error.message)
            self._is_closed.wait(self._pause_seconds)

    def _take_unwritten(self) -> dict[bytes, float]:
        with self._lock:
            used_at, self._used_at = self._used_at, {}
            if not used_at:
                self._thread = None
            return used_at


def _cookie_values(cookies: bytes) -> Iterable[str]:
    """Return the values of all cookies, which may include those of other ports with the same name."""
    return (pair.partition("=")[2].strip() for pair in cookies.decode("latin-1").split(";"))


class _Record(NamedTuple):
    n_tokens: float
    updated_at: float
    valid: tuple[bytes, ...] = ()


def _network_of(address: str) -> str:
    """Return the network of a client: an IPv4 address, or the /64 prefix of an IPv6 address."""
    try:
        ip_address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip_address, ipaddress.IPv4Address):
        return address
    return str(ip_address.ipv4_mapped or ipaddress.ip_network((int(ip_address), _IPV6_PREFIX_BITS), strict=False))
