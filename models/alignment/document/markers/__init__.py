"""Markers and the ids inside them."""
