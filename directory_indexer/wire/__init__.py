"""What leaves the program as data: each record is described here once, for `--json` and for assistants alike."""
