"""The truth about files, texts and runs, in one SQLite database."""
