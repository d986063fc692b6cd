"""SQLite storage of files, texts and runs: the source of truth of an index."""
