"""Export of the index for other programs: a SQLite database, JSON Lines or CSV."""
