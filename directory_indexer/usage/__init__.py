"""What assistants do to find things, counted in the transcripts that they leave; nothing is sent anywhere."""
