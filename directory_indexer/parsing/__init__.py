"""Parsing of files into chunks, in worker processes with limits of time and memory."""
