"""Streams of many sessions, read with one blocking XREAD."""
