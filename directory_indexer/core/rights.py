"""The rights that a key can have."""

from __future__ import annotations

from enum import StrEnum


class Right(StrEnum):
    """The right of a key; each of the first three includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    METRICS = "metrics"
    """Read the metrics of a server, and nothing else."""

    OWNER = "owner"
    """The right of the user of `dirindex ui` at its page; no key has it."""

    def allows(self, needed: Right) -> bool:
        """Whether this right includes another one."""
        return needed in _RIGHTS_INCLUDED_IN[self]


_RIGHTS_INCLUDED_IN = {
    Right.READ: {Right.READ},
    Right.WRITE: {Right.READ, Right.WRITE},
    Right.ADMIN: {Right.READ, Right.WRITE, Right.ADMIN, Right.METRICS},
    Right.METRICS: {Right.METRICS},
    Right.OWNER: {Right.READ, Right.WRITE, Right.OWNER},
}
