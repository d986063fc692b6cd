"""Messages and mailboxes: what was written, by whom and to whom, and what is attached."""
