"""What was said in sessions with coding assistants and which tools they called, read from the files that they leave."""
