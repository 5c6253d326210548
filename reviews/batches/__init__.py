"""Batches of review sessions, from start to report."""
