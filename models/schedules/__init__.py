"""Schedules: times, actions and results. Pure data; this package reads no clock."""
