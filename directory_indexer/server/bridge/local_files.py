"""Local files that may be converted and sent: only within allowed directories, and never secrets.

A path is resolved first and then opened without following links, so a link cannot lead out of an allowed directory.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import NamedTuple

import blake3

from directory_indexer.core.errors import ContentRefusedError, RefusalReason, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import (
    FilePath,
    containers_around,
    display,
    invalid_character_in,
    lies_in,
    os_path,
    resolved_path,
    unquote_path,
)
from directory_indexer.integrations.converting.converter import Converter
from directory_indexer.walk.ignore import built_in_rules, likely_secret_kind, secret_kind_of_decision

with lazily:
    from directory_indexer.policies import Policies
    from directory_indexer.secrets.redaction import secret_spans

_ID_BYTES = 16


class LocalDocument(NamedTuple):
    """A file converted to Markdown, with secrets masked."""

    path: FilePath
    markdown: str
    client_id: str
    """Identifies this file of this machine and user, and reveals nothing of its path."""


class LocalFiles:
    """Converts local files in worker processes. Thread-safe."""

    def __init__(self, policies: Policies, *, private: Sequence[FilePath] = (), fetch_urls: bool = False) -> None:
        self._fetch_urls = fetch_urls
        self._private = (*policies.walk.own, *private)
        self._converter = Converter(
            lambda: policies.parse._replace(include_secrets=False), destinations=policies.destinations
        )

    def convert(self, written: str, allowed: Sequence[FilePath]) -> LocalDocument:
        """Convert a file or a member of an archive; a relative path is looked up in the allowed directories.

        Raises:
            UsageError: the file lies in no allowed directory, or cannot be read.
            ContentRefusedError: the file is a secret.
        """
        path = _resolve_allowed_path(written, allowed)
        self._require_no_secret(path)
        return LocalDocument(path, self._converter.convert_file(path, follow_links=False), _derive_client_id(path))

    def convert_url(self, url: str) -> str:
        """Convert a document from the web.

        Raises:
            UsageError: fetching is disabled here, or the URL must not be fetched.
            UnavailableError: the web server does not respond properly.
        """
        if not self._fetch_urls:
            raise UsageError(
                "fetching from the web is disabled on this machine",
                hint="enable it with serving.fetch_urls in the configuration",
            )
        return self._converter.convert_url(url)

    def _require_no_secret(self, path: FilePath) -> None:
        if secret_spans(os.path.basename(path)):
            raise ContentRefusedError(RefusalReason.SECRET, "the name of the file holds a secret", hint="rename it")
        if any(lies_in(path, own) or _is_same_file(path, own) for own in self._private):
            raise UsageError(f"{display(path)} belongs to dirindex itself", hint="give another file")
        rules = built_in_rules(include_secrets=False, include_hidden=True)
        for container in [path, *containers_around(path)]:
            names = [name for name in container.split(os.sep) if name]
            decision = rules.decide_path(names, is_directory=False)
            if kind := secret_kind_of_decision(decision) or likely_secret_kind(container):
                raise ContentRefusedError(RefusalReason.SECRET, f"{display(path)} is a secret by its name: {kind}")


def _resolve_allowed_path(written: str, allowed: Sequence[FilePath]) -> FilePath:
    if not allowed:
        raise UsageError(
            "no directory is allowed", hint="add directories to dirindex serve --remote, or open one in the client"
        )
    written = unquote_path(written)
    if invalid := invalid_character_in(written, is_from_system=True):
        raise UsageError(f"a path must not contain {invalid}", hint="check the path")
    choices = [written] if os.path.isabs(written) else [os.path.join(os_path(root), written) for root in allowed]
    inside = [path for path in map(resolved_path, choices) if any(lies_in(path, root) for root in allowed)]
    existing = next((path for path in inside if _exists(path)), None)
    if existing is None and inside:
        raise UsageError(f"{display(inside[0])} does not exist", hint="check the path")
    if existing is None:
        raise UsageError(
            f"'{written}' does not lie in an allowed directory", hint=f"allowed: {', '.join(map(display, allowed))}"
        )
    return existing


def _exists(path: FilePath) -> bool:
    return any(os.path.isfile(os_path(container)) for container in [path, *containers_around(path)])


def _is_same_file(path: FilePath, other: FilePath) -> bool:
    try:
        return os.path.samefile(os_path(path), os_path(other))
    except OSError:
        return False


def _derive_client_id(path: FilePath) -> str:
    """Derive an id that differs between users and machines that have a file with the same path."""
    parts = (socket.gethostname(), os.path.expanduser("~"), path)
    return f"local-{blake3.blake3(chr(0).join(parts).encode('utf-8', 'surrogatepass')).hexdigest(length=_ID_BYTES)}"
