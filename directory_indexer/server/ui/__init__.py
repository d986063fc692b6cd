"""The web page of `dirindex ui`: its files, its login, and the lifetime of its server."""
