"""Pictures and sound: the metadata in their files, and the text on pictures."""
