"""Hold a session with the Python SDK 1, which many programs still use: python1.py COMMAND..."""

from __future__ import annotations

import sys

import anyio
from mcp import ClientSession, StdioServerParameters  # type: ignore[attr-defined, unused-ignore]
from mcp.client.stdio import stdio_client


async def main() -> None:
    """Search, index and read."""
    command, *arguments = sys.argv[1:]
    async with (
        stdio_client(StdioServerParameters(command=command, args=arguments)) as (reader, writer),
        ClientSession(reader, writer) as session,
    ):
        initialized = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("search", {"query": "carrots", "mode": "keyword"})
        job = await session.call_tool("index", {"wait_seconds": 50})
        refused = await session.call_tool("search", {"q": "x"})
        is_right = len(tools.tools) == 5 and not result.isError and not job.isError and refused.isError  # type: ignore[attr-defined, unused-ignore]
        if not is_right:
            sys.exit("not as it should be")
        print(f"session held by {initialized.protocolVersion}")  # type: ignore[attr-defined, unused-ignore]  # noqa: T201


anyio.run(main)
