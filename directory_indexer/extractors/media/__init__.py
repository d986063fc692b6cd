"""Pictures and sound: what is written in their files beside what they show and play."""
