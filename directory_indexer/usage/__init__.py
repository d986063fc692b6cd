"""Counts what assistants do to find things, from their transcripts; nothing is sent anywhere."""
