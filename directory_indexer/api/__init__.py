"""Records of the output formats: each is defined once, for `--json`, the HTTP API and MCP alike."""
