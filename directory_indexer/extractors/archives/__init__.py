"""Archives: their members, unpacked one after the other into memory within a budget."""
