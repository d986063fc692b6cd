"""Resolution of the links of a document to indexed files.

A link is looked up among the paths of the index only: no link touches the disk, and none leads out of the archive that
contains its document.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import unquote

from directory_indexer.config.collections import documents_of
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, containers_around, file_path, lies_in
from directory_indexer.previewing.requests import Node
from directory_indexer.server.api.operations import Services

with lazily:
    from directory_indexer.team.opened import OpenCollection

_MOST_LINKS: Final = 2_000


class LinkedFile(NamedTuple):
    """The target of a link."""

    doc_id: str
    heading: str


NOWHERE: Final = LinkedFile("", "")


def linked_files(
    services: Services, opened: OpenCollection, path: FilePath, blocks: Iterable[Node]
) -> Mapping[str, LinkedFile]:
    """Return the indexed files that the links of a document lead to, by their addresses as written."""
    addresses = dict.fromkeys(islice(_addresses(blocks), _MOST_LINKS))
    targets = {address: target for address in addresses if (target := _target(path, address))}
    with opened.app.docstore.snapshot() as snapshot:
        indexed = snapshot.files.with_text(targets.values())
    own = documents_of(opened.app.loaded)
    return {
        address: LinkedFile(services.document_ids.of(opened.name, target), unquote(address.partition("#")[2]))
        for address, target in targets.items()
        if target in indexed and not lies_in(target, own)
    }


def _addresses(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        if node.beside:
            yield node.beside
        yield from _addresses(node.children)


def _target(path: FilePath, address: str) -> FilePath | None:
    """Return the path of an address relative to a document; None if the two are not in the same archive."""
    name = unquote(address.partition("#")[0].partition("?")[0], errors="surrogateescape")
    if not name:
        return path
    if name.startswith(("/", "\\")) or os.path.isabs(name):
        return None
    target = FilePath(os.path.normpath(os.path.join(os.path.dirname(path), file_path(name))))
    return target if containers_around(target)[-1:] == containers_around(path)[-1:] else None
