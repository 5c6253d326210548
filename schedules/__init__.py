"""Schedules: times, actions and results, their store and service, and the task that starts due runs."""
