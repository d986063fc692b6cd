"""Reads pages that are pictures of text: engines on this machine and elsewhere, behind one boundary."""
