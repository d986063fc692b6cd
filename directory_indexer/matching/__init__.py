"""Matching of lines by patterns: compilation, required literals, and spans of lines.

Pure: of an index, only its tokenisation is known here.
"""
