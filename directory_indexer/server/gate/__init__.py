"""What every request over HTTP goes through, before it reaches MCP or REST."""
