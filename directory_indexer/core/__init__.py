"""Foundations of every room: errors, paths, ids, locks, safe opening and the isolation of processes."""
