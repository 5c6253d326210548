"""Markers in a line."""
