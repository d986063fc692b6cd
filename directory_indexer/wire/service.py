"""Records of the health endpoints of a server."""

from __future__ import annotations

from typing import Annotated, NamedTuple


class Health(NamedTuple):
    """That a server is there."""

    status: Annotated[str, "ok"]
    name: Annotated[str, "dirindex"]
    version: Annotated[str, "Version of dirindex."]


class Readiness(NamedTuple):
    """That a server answers as it should."""

    status: Annotated[str, "ready"]
    model: Annotated[str, "The model that searches by meaning: ready, or failed, where words alone answer."]
