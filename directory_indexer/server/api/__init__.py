"""REST: the index for programs that speak plain HTTP, from the same records as MCP."""
