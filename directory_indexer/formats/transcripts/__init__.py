"""Sessions with coding assistants: their turns and tool calls, read from the files that the assistants write."""
