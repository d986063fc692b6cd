"""What a team shares: collections, the documents that are sent to them, their backups."""
