"""Lines that match a pattern: what a pattern means, which texts a match must hold, and where lines match.

Pure: what is known here of an index is how it cuts text into words.
"""
