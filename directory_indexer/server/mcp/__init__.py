"""The MCP server: its tools, their arguments, answers and token budgets."""
