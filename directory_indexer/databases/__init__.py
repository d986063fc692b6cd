"""What every SQLite database of this program has in common: its connections, and whose file it is."""
