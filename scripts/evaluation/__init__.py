"""Measures how well searches find what judges found relevant, on any set of documents, queries and judgements."""
