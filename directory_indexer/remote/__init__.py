"""Client of a remote index, and conversion of the local files that are sent to it."""
