"""Archives: their members, one after the other, unpacked into memory and counted while they come."""
