"""Scheduled reviews and sessions."""
