"""Conversion of a file, a container member or a document on the web to Markdown, without indexing it."""

from __future__ import annotations

import os
from collections.abc import Callable

from directory_indexer.converting.markdown import to_markdown
from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily
from directory_indexer.parsing.documents import DocumentRequest, read_document
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.paths import FilePath, display, os_path

with lazily:
    from directory_indexer.converting.destinations import Destinations
    from directory_indexer.converting.fetching import Fetched, fetch


def is_url(text: str) -> bool:
    """Whether an argument is a URL."""
    return text.lower().startswith(("http://", "https://"))


class Converter:
    """Converts documents, each in a worker process."""

    def __init__(
        self,
        parse_policy: Callable[[], ParsePolicy],
        *,
        destinations: Callable[..., Destinations],
        fetch: Callable[..., Fetched] = fetch,
    ) -> None:
        self._parse_policy = parse_policy
        self._destinations = destinations
        self._fetch = fetch

    def convert_file(self, path: FilePath, *, follow_links: bool = True) -> str:
        """Convert a file, or a member of a container by its path in it.

        Raises:
            UsageError: it cannot be read; the message says why.
        """
        if os.path.isdir(os_path(path)):
            raise UsageError(f"{display(path)} is a directory", hint="name a file in it")
        return to_markdown(read_document(DocumentRequest(path, follow_links=follow_links), self._parse_policy()))

    def convert_url(self, url: str, *, allow_private: bool = False) -> str:
        """Convert a document on the web.

        Raises:
            UsageError: the address is none, leads into a private network, or to what cannot be read.
            UnavailableError: the server does not answer as it should.
        """
        fetched = self._fetch(url, destinations=self._destinations(allow_private=allow_private))
        return to_markdown(
            read_document(DocumentRequest(FilePath(fetched.name), fetched.content), self._parse_policy())
        )
