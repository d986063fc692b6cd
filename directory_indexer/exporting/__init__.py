"""What the index holds, written for other programs: a SQLite database, JSON Lines or CSV."""
