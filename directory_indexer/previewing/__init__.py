"""Prepares documents for display: pages as pictures, code in colours, Markdown as a tree, tables as cells."""
