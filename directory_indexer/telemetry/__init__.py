"""Telemetry: spans and log records, sent to a collector or to Azure Monitor where one is configured.

The rest of the program calls `spans`, which does nothing until `start` has found a receiver in the configuration.
Only `recorder` and the modules of the receivers (`otlp`, `azure`) import OpenTelemetry, and only when one is used.
"""
