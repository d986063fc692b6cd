"""The commands, a module each: options become records, one call does the work, and what comes back is rendered."""
