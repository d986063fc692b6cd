"""Storage of a server for several users: keys, collections, documents, operations and idempotent responses."""
