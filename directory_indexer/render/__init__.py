"""Turns records into what people and programs read: lines for a terminal or a pipe, and JSON.

Nothing here prints, reads a clock or looks at the environment, and only `terminal` imports rich: what goes into a pipe
or comes as JSON does not pay for it.
"""
