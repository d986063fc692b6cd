"""Which tools a server has: all of them, or those that can be answered from a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from directory_indexer.lazy import lazily
from directory_indexer.server.catalogue import TOOLS, ToolEntry
from directory_indexer.server.failures import NEXT_CALLS_FROM_CLUSTER
from directory_indexer.server.from_cluster import TOOLS_HERE, ClusterApp
from directory_indexer.server.identity import FROM_CLUSTER
from directory_indexer.server.protocol import EVERYTHING, Offer

with lazily:
    from directory_indexer.app import App


def offer_of(app: App) -> Offer:
    """Give what can be answered from where an index is."""
    if isinstance(app, ClusterApp):
        return Offer(
            tuple(_told_here(one) for one in TOOLS if one.name in TOOLS_HERE),
            FROM_CLUSTER,
            NEXT_CALLS_FROM_CLUSTER,
            frozenset({"collection", "collections"}),
            app.elsewhere,
        )
    return EVERYTHING


def _told_here(entry: ToolEntry) -> ToolEntry:
    return replace(entry, description=_DESCRIPTIONS.get(entry.name, entry.description))


_DESCRIPTIONS: Final = {
    "get_content": "Read lines, pages or passages of an indexed file of any format. Use it after search, with path and "
    "start_line of a hit. Lists a directory.",
    "server_info": "List indexed directories. Use it when you do not know what can be searched.",
}
"""Of tools whose usual description names others, or what only the machine that indexes has."""
