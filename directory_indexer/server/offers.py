"""Toolsets of servers: all tools, or those that a cluster index can answer."""

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
    """Return the toolset for the index of an app."""
    if isinstance(app, ClusterApp):
        return Offer(
            tuple(_describe_for_cluster(entry) for entry in TOOLS if entry.name in TOOLS_HERE),
            FROM_CLUSTER,
            NEXT_CALLS_FROM_CLUSTER,
            frozenset({"collection", "collections"}),
            app.elsewhere,
        )
    return EVERYTHING


def _describe_for_cluster(entry: ToolEntry) -> ToolEntry:
    return replace(entry, description=_DESCRIPTIONS.get(entry.name, entry.description))


_DESCRIPTIONS: Final = {
    "get_content": "Read lines, pages or passages of an indexed file of any format. Use it after search, with path and "
    "start_line of a hit. Lists a directory.",
    "server_info": "List indexed directories. Use it when you do not know what can be searched.",
}
"""Descriptions of the tools whose usual ones mention tools or data that a cluster index lacks."""
