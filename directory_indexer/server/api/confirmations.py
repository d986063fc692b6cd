"""Confirmation tokens for actions that the owner has previewed on the page; each is valid once."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from directory_indexer.errors import ConflictError
from directory_indexer.paths import FilePath

VALID_SECONDS: Final = 600
_MAX_PENDING: Final = 100


class Act(StrEnum):
    """Actions that need a confirmation."""

    ADD = "add"
    FORGET = "forget"


class _Pending(NamedTuple):
    act: Act
    path: FilePath
    expires_at: float


class Confirmations:
    """The pending confirmations."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: OrderedDict[str, _Pending] = OrderedDict()

    def new(self, act: Act, path: FilePath) -> str:
        """Return a new token that confirms a previewed action."""
        confirmation = secrets.token_urlsafe(24)
        with self._lock:
            self._pending[confirmation] = _Pending(act, path, self._clock() + VALID_SECONDS)
            while len(self._pending) > _MAX_PENDING:
                self._pending.popitem(last=False)
        return confirmation

    def use(self, act: Act, confirmation: str) -> FilePath:
        """Consume a token, and return the directory of the confirmed action.

        Raises:
            ConflictError: the token is unknown, used, expired or for another action.
        """
        with self._lock:
            pending = self._pending.pop(confirmation, None)
        if pending is None or pending.act is not act or self._clock() > pending.expires_at:
            raise ConflictError("the confirmation is unknown, used or expired", hint="look at the directory again")
        return pending.path
