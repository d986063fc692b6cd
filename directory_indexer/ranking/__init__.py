"""Analysis of queries and texts, matching, ranking and excerpts. Pure."""
