"""Reads what office programs write: Word, PowerPoint, Excel, OpenDocument, rich text."""
