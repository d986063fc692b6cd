"""Which tools a server has: all of them, or those that can be answered from a cluster."""

from __future__ import annotations

from directory_indexer.lazy import lazily
from directory_indexer.server.catalogue import TOOLS
from directory_indexer.server.from_cluster import TOOLS_HERE, ClusterApp
from directory_indexer.server.protocol import EVERYTHING, Offer

with lazily:
    from directory_indexer.app import App


def offer_of(app: App) -> Offer:
    """Give what can be answered from where an index is."""
    if isinstance(app, ClusterApp):
        return Offer(tuple(one for one in TOOLS if one.name in TOOLS_HERE), app.elsewhere)
    return EVERYTHING
