"""Previews of documents: pages as images, highlighted code, Markdown as a tree, tables as cells."""
