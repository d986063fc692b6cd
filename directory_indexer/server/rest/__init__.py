"""REST API: the index for programs that use plain HTTP, with the same records as MCP."""
