"""Access to SQLite databases: connections, ownership, copies and parsing of stored values."""
