"""Traces of sessions with OpenTelemetry, exported by workers."""
