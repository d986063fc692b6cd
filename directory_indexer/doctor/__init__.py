"""Integrity checks of an index, and repairs from the texts in SQLite."""
