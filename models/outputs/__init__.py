"""Typed results: the JSON schema of a session's output, checks of data, and the speaker who gives it."""
