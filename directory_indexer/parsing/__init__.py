"""From a file to its chunks, in worker processes with limits of time and memory."""
