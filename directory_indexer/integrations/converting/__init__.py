"""Conversion of documents to Markdown, from files and from URLs."""
