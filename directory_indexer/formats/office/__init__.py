"""Office documents: Word, PowerPoint, Excel, OpenDocument, rich text."""
