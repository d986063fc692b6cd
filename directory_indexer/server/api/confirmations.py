"""What the owner was shown at the page and may confirm: nothing else is done, and each only once."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from directory_indexer.errors import ConflictError
from directory_indexer.paths import FilePath

GOOD_SECONDS: Final = 600
_MOST: Final = 100


class Act(StrEnum):
    """What is done only when it was confirmed."""

    ADD = "add"
    FORGET = "forget"


class _Shown(NamedTuple):
    act: Act
    path: FilePath
    good_until: float


class Confirmations:
    """What was shown lately and was not confirmed yet."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._shown: OrderedDict[str, _Shown] = OrderedDict()

    def new(self, act: Act, path: FilePath) -> str:
        """Remember that the owner was shown what an act means, and give what confirms it."""
        confirmation = secrets.token_urlsafe(24)
        with self._lock:
            self._shown[confirmation] = _Shown(act, path, self._clock() + GOOD_SECONDS)
            while len(self._shown) > _MOST:
                self._shown.popitem(last=False)
        return confirmation

    def use(self, act: Act, confirmation: str) -> FilePath:
        """Use up a confirmation, and give the directory that it is for.

        Raises:
            ConflictError: it is unknown, for another act, used or expired.
        """
        with self._lock:
            shown = self._shown.pop(confirmation, None)
        if shown is None or shown.act is not act or self._clock() > shown.good_until:
            raise ConflictError("the confirmation is unknown, used or expired", hint="look at the directory again")
        return shown.path
