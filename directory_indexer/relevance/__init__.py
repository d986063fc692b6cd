"""What matches a query and how well: the words of texts and queries, ranking, excerpts. Pure."""
