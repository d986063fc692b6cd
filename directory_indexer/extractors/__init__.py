"""What turns the bytes of a file into a document, by kind of file."""
