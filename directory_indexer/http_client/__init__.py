"""Outgoing HTTP: one bounded client for documents of the web, OCR services and embedding services."""
