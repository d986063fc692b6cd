"""Find passages in your own directories by meaning and by words."""

__version__ = "0.9.0"
