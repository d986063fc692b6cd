"""Rendering of records for people and programs: lines for a terminal or a pipe, and JSON.

Nothing here prints, reads a clock or the environment, and only `terminal` imports rich, so that pipes and JSON do not
pay for it.
"""
