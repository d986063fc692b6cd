"""Hold a session with the Python SDK 2: python2.py MODE URL | MODE COMMAND..."""

from __future__ import annotations

import sys
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters


async def main() -> None:
    """Call every tool and read the resources."""
    mode: Any = sys.argv[1]
    first, *rest = sys.argv[2:]
    target = first if first.startswith("http") else StdioServerParameters(command=first, args=rest)
    async with Client(target, mode=mode) as client:
        await hold_session(client)
        print(f"session held by {client.protocol_version}")  # noqa: T201 - its result


async def hold_session(client: Client) -> None:
    """Search, read, index, and be refused."""
    require(len((await client.list_tools()).tools) == 5)
    result: Any = await client.call_tool("search", {"query": "carrots", "mode": "keyword"})
    content: Any = result.structured_content
    hit = content["hits"][0]
    read = await client.read_resource(result.content[1].uri)
    require("Carrots" in str(read.contents[0]))
    require(not (await client.call_tool("similar_files", {"path": hit["path"]})).is_error)
    job: Any = (await client.call_tool("index", {"wait_seconds": 50})).structured_content
    require(job["state"] == "completed")
    require((await client.call_tool("get_content", {"path": "/etc/passwd"})).is_error)
    for uri in ("dirindex://file/..%2f..%2fetc/passwd", "dirindex://file//etc/passwd", "file:///etc/passwd"):
        try:
            await client.read_resource(uri)
        except MCPError:
            continue
        sys.exit(f"{uri} was read")


def require(is_so: object) -> None:
    """End with a failure when something is not as it should be."""
    if not is_so:
        sys.exit("not as it should be")


anyio.run(main)
