"""What a server for several people keeps beside its indexes: the keys of those who may use it."""
