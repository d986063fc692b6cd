"""Which files there are below a directory, and which rule leaves one out."""
