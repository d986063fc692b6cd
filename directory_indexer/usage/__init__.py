"""Usage of search tools by assistants, counted in their transcripts; nothing is sent anywhere."""
