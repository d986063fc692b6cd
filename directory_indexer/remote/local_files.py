"""Files of this machine that may be converted and sent: within allowed directories, and never a secret.

A path is resolved first, and opened without following a link after that, so a link does not lead out of a directory.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import NamedTuple

import blake3

from directory_indexer.converting.converter import Converter
from directory_indexer.errors import ContentRefusedError, RefusalReason, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import (
    FilePath,
    containers_around,
    display,
    invalid_character_in,
    lies_in,
    os_path,
    resolved_path,
    written_path,
)
from directory_indexer.walker.ignore import built_in_rules, kind_of_secret, likely_secret

with lazily:
    from directory_indexer.credentials.redaction import secret_spans
    from directory_indexer.policies import Policies

_ID_BYTES = 16


class LocalDocument(NamedTuple):
    """A file as Markdown, without its secrets."""

    path: FilePath
    markdown: str
    client_id: str
    """Names this very file of this machine and user, and tells nothing of its path."""


class LocalFiles:
    """Reads files in worker processes; threads may share it."""

    def __init__(self, policies: Policies, *, private: Sequence[FilePath] = (), fetch_urls: bool = False) -> None:
        self._fetch_urls = fetch_urls
        self._private = (*policies.walk.own, *private)
        self._converter = Converter(
            lambda: policies.parse._replace(include_secrets=False), destinations=policies.destinations
        )

    def convert(self, written: str, allowed: Sequence[FilePath]) -> LocalDocument:
        """Convert a file, or a member of one, given by its path or by one below an allowed directory.

        Raises:
            UsageError: it does not lie in an allowed directory, or cannot be read.
            ContentRefusedError: it is a secret.
        """
        path = _resolved(written, allowed)
        self._require_harmless(path)
        return LocalDocument(path, self._converter.convert_file(path, follow_links=False), _id_of(path))

    def convert_url(self, url: str) -> str:
        """Convert a document on the web.

        Raises:
            UsageError: this machine fetches nothing, or the address is none that may be fetched.
            UnavailableError: its server does not answer as it should.
        """
        if not self._fetch_urls:
            raise UsageError(
                "this machine fetches nothing from the web",
                hint="its user allows it with serving.fetch_urls in the configuration",
            )
        return self._converter.convert_url(url)

    def _require_harmless(self, path: FilePath) -> None:
        if secret_spans(os.path.basename(path)):
            raise ContentRefusedError(RefusalReason.SECRET, "the name of the file holds a secret", hint="rename it")
        if any(lies_in(path, own) or _is_same_file(path, own) for own in self._private):
            raise UsageError(f"{display(path)} belongs to dirindex itself", hint="give another file")
        rules = built_in_rules(include_secrets=False, include_hidden=True)
        for place in [path, *containers_around(path)]:
            names = [name for name in place.split(os.sep) if name]
            decision = rules.decide_path(names, is_directory=False)
            if kind := kind_of_secret(decision) or likely_secret(place):
                raise ContentRefusedError(RefusalReason.SECRET, f"{display(path)} is a secret by its name: {kind}")


def _resolved(written: str, allowed: Sequence[FilePath]) -> FilePath:
    if not allowed:
        raise UsageError(
            "no directory is allowed", hint="name directories behind dirindex serve --remote, or open one in the client"
        )
    written = written_path(written)
    if invalid := invalid_character_in(written, is_from_system=True):
        raise UsageError(f"a path must not contain {invalid}", hint="check the path")
    choices = [written] if os.path.isabs(written) else [os.path.join(os_path(root), written) for root in allowed]
    inside = [path for path in map(resolved_path, choices) if any(lies_in(path, root) for root in allowed)]
    found = next((path for path in inside if _is_there(path)), None)
    if found is None and inside:
        raise UsageError(f"{display(inside[0])} does not exist", hint="check the path")
    if found is None:
        raise UsageError(
            f"'{written}' does not lie in an allowed directory", hint=f"allowed are {', '.join(map(display, allowed))}"
        )
    return found


def _is_there(path: FilePath) -> bool:
    return any(os.path.isfile(os_path(place)) for place in [path, *containers_around(path)])


def _is_same_file(path: FilePath, other: FilePath) -> bool:
    try:
        return os.path.samefile(os_path(path), os_path(other))
    except OSError:
        return False


def _id_of(path: FilePath) -> str:
    """Derive an id that two users, or two machines, with a file of one name do not share."""
    parts = (socket.gethostname(), os.path.expanduser("~"), path)
    return f"local-{blake3.blake3(chr(0).join(parts).encode('utf-8', 'surrogatepass')).hexdigest(length=_ID_BYTES)}"
