"""Telemetry: spans and lines of the log, sent to a collector or to Azure Monitor where one is configured.

The rest of the program calls `spans`, which does nothing until `starting` has found a receiver. Only `recording` and
the modules of the receivers (`otlp`, `azure`) import OpenTelemetry, and not before that.
"""
