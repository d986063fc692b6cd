"""Whether an index is whole and its parts agree, and mending what they lack from the texts in SQLite."""
