"""Looks at documents for people: pages as pictures, colours of code, Markdown as a tree, tables as cells."""
