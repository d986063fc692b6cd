"""The reading side: searches, similar files, and the text of files."""
