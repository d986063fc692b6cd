"""Messages and mailboxes: their headers, bodies and attachments."""
