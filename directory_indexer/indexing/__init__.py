"""Indexing: plans, index runs, and their changes to the stores."""
