"""What goes on here, told to a collector or to Azure Monitor, if one is configured.

`spans` is what the rest of the program calls; all of it does nothing until `starting` has found that somebody is to be
told. OpenTelemetry is imported by `recording` and `exporters` alone, and not before that.
"""
