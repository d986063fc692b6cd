"""The files of multilingual-e5-small as dirindex runs it. They are found by the name of the package, not imported."""
