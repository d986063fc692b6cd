"""The commands, one module each: options become records, one call does the work, and its result is rendered."""
