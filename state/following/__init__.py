"""Readers that follow a live session."""
