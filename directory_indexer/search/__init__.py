"""Search, similar files, and the indexed text of files."""
