"""Middleware of the HTTP server, which every request passes before MCP or REST."""
