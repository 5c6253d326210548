"""Sessions in SQL."""
