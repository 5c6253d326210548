"""Merging and comparing findings."""
