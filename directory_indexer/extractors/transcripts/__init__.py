"""Reads what was said in sessions with coding assistants and which tools were called, from the files they write."""
