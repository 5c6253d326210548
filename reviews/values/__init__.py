"""Batch reviews as values: items, findings and results of runs. Pure."""
