"""`dirindex serve --remote`: a remote index for assistants on this machine, with conversion of local files."""

from __future__ import annotations

import os
from typing import NoReturn

from directory_indexer.app import App
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.server.bridge.http_client import RemoteAddress
from directory_indexer.server.lifecycle import EarlyHandshake, log_to_stderr, pause_garbage_collection

with lazily:
    from directory_indexer.server.bridge.http_client import HttpClient
    from directory_indexer.server.bridge.mcp_server import LocalFiles, make_bridge_server
    from directory_indexer.server.bridge.remote_server import RemoteServer
    from directory_indexer.server.stdio import run_stdio


def serve_remote(
    app: App,
    address: RemoteAddress,
    token: str,
    *,
    allowed: tuple[FilePath, ...],
    private: tuple[FilePath, ...],
    verbose: bool,
) -> NoReturn:
    """Serve one client on standard input and output until it disconnects.

    Files may be read from the `allowed` directories, or else from the roots of the client, but never `private` ones.
    """
    parent = os.getppid()
    log_to_stderr(verbose=verbose)
    with pause_garbage_collection():
        fetch_urls = app.loaded.config.serving.fetch_urls
        local_files = LocalFiles(app.policies, private=private, fetch_urls=fetch_urls)
        http_client = HttpClient(address, token)
        server = make_bridge_server(RemoteServer(http_client), local_files, allowed)
    # There is no early handshake: the SDK is already imported.
    run_stdio(server, EarlyHandshake(""), parent=parent, close=http_client.close)
