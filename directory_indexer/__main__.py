"""Lets `python -m directory_indexer` run the command."""

from directory_indexer.cli import main

main()
