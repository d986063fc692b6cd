"""The page of `dirindex ui`: files for a browser, how one is admitted, and when the server of a page ends."""
