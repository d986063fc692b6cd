"""Collections, the documents that are sent to them, and their backups."""
