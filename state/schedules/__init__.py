"""Schedules in Redis."""
