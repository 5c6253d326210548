"""Batch reviews in Redis."""
