"""Integration into assistants: entries in their configuration files, and their removal."""
