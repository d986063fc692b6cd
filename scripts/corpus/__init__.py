"""Real files of every format, what is found in them, and what other readers find."""
