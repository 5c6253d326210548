"""Batch reviews in SQL: runs, findings, and the cache of reviewed items."""
