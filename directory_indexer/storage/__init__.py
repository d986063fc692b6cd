"""The stores of an index: texts and metadata in SQLite, vectors in Qdrant, and the registry beside them."""
